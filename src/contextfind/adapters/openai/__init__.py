"""Openai: see docs/architecture.md."""
