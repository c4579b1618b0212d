"""Embedded: see docs/architecture.md."""
