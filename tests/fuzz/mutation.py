"""Making bad inputs of good ones."""

import random
from collections.abc import Callable, Sequence

Change = Callable[[bytearray, random.Random], None]

_ODD = (  # edges of integers, of text and of usual grammars
    b"\x00", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n\n", b"\n---\n", b"../", b"\\", b"%00", b"-1", b"1e999", b"NaN",
    b"9" * 30, b'"', b"'", b"{", b"[", b"<", b"<!--", b"]]>", b"&#0;", b"\xe5\x8f\x91",
)  # fmt: skip


def mutated(data: bytes, words: Sequence[bytes], longest: int, chance: random.Random) -> bytes:
    """Return an input with one to four small changes."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 4))):
        chance.choice(_CHANGES)(found, chance)
        if words and chance.random() < 0.3:
            _inserted(found, chance.choice(words), chance)
    return bytes(found[:longest])


def repeated(data: bytes, longest: int, chance: random.Random) -> bytes:
    """Return an input with one piece of it many times: what is quadratic shows itself."""
    start, size = chance.randrange(len(data) + 1), chance.choice((1, 2, 3, 8, 30, 100))
    piece = data[start : start + size]
    times = chance.randrange(longest) // max(len(piece), 1)
    return (data[:start] + piece * times + data[start:])[:longest]


def _place(found: bytearray, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(found) + 1)
    return start, start + chance.choice((1, 1, 2, 4, 8, 32, 100))


def _flip(found: bytearray, chance: random.Random) -> None:
    if found:
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)


def _overwrite(found: bytearray, chance: random.Random) -> None:
    if found:
        found[chance.randrange(len(found))] = chance.randrange(256)


def _remove(found: bytearray, chance: random.Random) -> None:
    start, end = _place(found, chance)
    del found[start:end]


def _copy(found: bytearray, chance: random.Random) -> None:
    start, end = _place(found, chance)
    _inserted(found, bytes(found[start:end]), chance)


def _odd(found: bytearray, chance: random.Random) -> None:
    word = chance.choice(_ODD)
    if chance.random() < 0.5:
        _inserted(found, word, chance)
    else:
        start = chance.randrange(len(found) + 1)
        found[start : start + len(word)] = word


def _inserted(found: bytearray, piece: bytes, chance: random.Random) -> None:
    place = chance.randrange(len(found) + 1)
    found[place:place] = piece


_CHANGES: tuple[Change, ...] = (_flip, _overwrite, _remove, _copy, _odd)
