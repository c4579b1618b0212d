"""Remote: see docs/architecture.md."""
