"""Config: see docs/architecture.md."""
