"""Parsing: bytes of a file to a Document; one module per kind of format, `reader` chooses."""
