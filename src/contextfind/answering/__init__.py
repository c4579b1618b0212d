"""Answering: see docs/architecture.md."""
