"""Domain: see docs/architecture.md."""
