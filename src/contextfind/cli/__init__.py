"""Cli: see docs/architecture.md."""
