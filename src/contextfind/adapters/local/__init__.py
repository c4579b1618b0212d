"""Local: see docs/architecture.md."""
