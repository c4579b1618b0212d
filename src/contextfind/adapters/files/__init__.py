"""Files: see docs/architecture.md."""
