"""Texts as PostgreSQL takes them: it stores every character but NUL."""

import re

_NUL, _ESCAPE, _NOT_NUL = "\ufdd0", "\ufdd1", "\ufdd2"  # noncharacters: no text has them by right
_SPECIAL = {"\0": _NUL, _NUL: _ESCAPE + _NOT_NUL, _ESCAPE: _ESCAPE + _ESCAPE}
_WRITTEN = {written: character for character, written in _SPECIAL.items()}
_TO_WRITE = re.compile(f"[\0{_NUL}{_ESCAPE}]")
_TO_READ = re.compile(f"{_NUL}|{_ESCAPE}.", re.DOTALL)


def storable(text: str) -> str:
    """Return the text as it is stored: NUL stands for itself no more, a lone surrogate becomes a question mark."""
    if text.isascii() and "\0" not in text:
        return text
    whole = text.encode("utf-8", "replace").decode()
    return _TO_WRITE.sub(lambda found: _SPECIAL[found[0]], whole)


def restored(text: str) -> str:
    """Undo `storable`, but for what was a lone surrogate."""
    if text.isascii():
        return text
    return _TO_READ.sub(lambda found: _WRITTEN.get(found[0], found[0]), text)
