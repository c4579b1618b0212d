"""Text as a model may be given it."""

import re

_UNSENDABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|[\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Return the text with control characters as spaces and lone surrogates as U+FFFD.

    Same length as before. A NUL cuts a text short in models written in C; a lone surrogate cannot
    be encoded at all.
    """
    return _UNSENDABLE.sub(lambda found: " " if found[0] <= "\x7f" else "\ufffd", text)
