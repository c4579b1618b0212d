"""Text as a model may be given it, as it may be taken from one, and as a database compares it."""

import re

_UNSENDABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|[\ud800-\udfff]")

_UNSEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\x80-\x9f]|\t|\r")


def plain_text(text: str) -> str:
    """Return the text with control characters as spaces and lone surrogates as U+FFFD.

    Same length as before. A NUL cuts a text short in models written in C; a lone surrogate cannot
    be encoded at all.
    """
    return _UNSENDABLE.sub(lambda found: " " if found[0] <= "\x7f" else "\ufffd", text)


def visible_text(text: str) -> str:
    """Return the plain text with a blank for each character that cannot be seen or turns the direction.

    Same length as before; line breaks stay. So what is kept is what a person reads.
    """
    return _UNSEEN.sub(" ", plain_text(text))


def is_encodable(text: str) -> bool:
    """Return whether any stored text could equal it: UTF-8 holds no lone surrogate."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def beyond(prefix: str) -> str | None:
    """Return the least text, by code points, greater than all that start with `prefix`; None when there is none."""
    highest, surrogates = 0x10FFFF, range(0xD800, 0xE000)
    for end in range(len(prefix), 0, -1):
        point = ord(prefix[end - 1])
        if point < highest:
            after = surrogates.stop if point + 1 in surrogates else point + 1
            return prefix[: end - 1] + chr(after)
    return None
