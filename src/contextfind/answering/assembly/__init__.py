"""A block of contexts for an agent's prompt: what fits the question best, within a budget of tokens."""
