"""A search index on a Qdrant cluster."""
