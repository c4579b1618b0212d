"""Wire: see docs/architecture.md."""
