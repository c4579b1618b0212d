"""Adapters: see docs/architecture.md."""
