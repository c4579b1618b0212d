"""Sessions: see docs/architecture.md."""
