"""Server: see docs/architecture.md."""
