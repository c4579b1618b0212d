"""How many tokens of a language model a text is, about."""

_BYTES = 4  # of UTF-8 in a token: four Latin letters, one and a third Chinese characters


def estimated_tokens(text: str) -> int:
    """Return about how many tokens the text costs, 0 for an empty one.

    Close enough to share out a budget: no two models cut a text alike.
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES)
