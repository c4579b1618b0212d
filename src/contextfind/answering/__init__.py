"""Answers made of hits, and how good they are."""
