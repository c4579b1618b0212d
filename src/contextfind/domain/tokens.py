"""How many tokens of a language model a text is, about, and texts cut to so many."""

BYTES = 4  # of UTF-8 in a token: four Latin letters, one and a third Chinese characters
_HEAD = 2 / 3  # of what is cut: how a text begins says more than how it ends
_CUT = " […] "


def estimated_tokens(text: str) -> int:
    """Return about how many tokens the text costs, 0 for an empty one.

    Close enough to share out a budget: no two models cut a text alike.
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES)


def shortened(text: str, tokens: int) -> str:
    """Return the text, or its beginning and its end where it costs more than so many tokens."""
    if estimated_tokens(text) <= tokens:
        return text
    room = max(BYTES * tokens - len(_CUT.encode()), 0)
    data = text.encode("utf-8", "surrogatepass")
    head = data[: int(_HEAD * room)].decode("utf-8", "ignore")
    tail = data[len(data) - (room - int(_HEAD * room)) :].decode("utf-8", "ignore")
    return f"{head}{_CUT}{tail}" if room else ""
