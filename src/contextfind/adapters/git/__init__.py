"""Repositories of other machines, fetched with git."""
