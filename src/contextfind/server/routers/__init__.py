"""Routers: see docs/architecture.md."""
