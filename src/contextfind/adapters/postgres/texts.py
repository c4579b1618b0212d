"""Texts as PostgreSQL takes them: it stores every character but NUL.

A part of a text is written as a part of the written text, and as nothing else: so the database can look for it.
"""

import re

# Noncharacters, which no text has by right. Every sequence begins with _ESCAPE, which stands nowhere else in one.
_NUL, _ESCAPE, _ONE, _TWO = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
_SPECIAL = {
    "\0": _NUL,
    _NUL: _ESCAPE + _ONE + _ONE,
    _ESCAPE: _ESCAPE + _ONE + _TWO,
    _ONE: _ESCAPE + _TWO + _ONE,
    _TWO: _ESCAPE + _TWO + _TWO,
}
_WRITTEN = {written: character for character, written in _SPECIAL.items()}
_TO_WRITE = re.compile(f"[{''.join(_SPECIAL)}]")
_TO_READ = re.compile(f"{_NUL}|{_ESCAPE}..", re.DOTALL)


def clean(text: str) -> str:
    """Return the text as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def storable(text: str) -> str:
    """Return the text as it is stored: `clean`, and NUL stands for itself no more."""
    if text.isascii() and "\0" not in text:
        return text
    return _TO_WRITE.sub(lambda found: _SPECIAL[found[0]], clean(text))


def restored(text: str) -> str:
    """Undo `storable`, but for what was a lone surrogate."""
    if text.isascii():
        return text
    return _TO_READ.sub(lambda found: _WRITTEN.get(found[0], found[0]), text)
