"""Ragas as a judge of answers, when the libraries of the extra `ragas` are installed."""
