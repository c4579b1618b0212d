"""Retrieval: see docs/architecture.md."""
