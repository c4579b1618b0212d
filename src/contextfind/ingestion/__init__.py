"""Ingestion: see docs/architecture.md."""
