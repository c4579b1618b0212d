"""Pictures from the public web."""
