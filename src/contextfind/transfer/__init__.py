"""A deployment as a file: written from one store, read into another."""
