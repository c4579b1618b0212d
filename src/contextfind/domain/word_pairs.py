"""Words that stand side by side: two that are neighbours in a question and in a text say more than two words."""

import re
from collections.abc import Sequence
from itertools import pairwise

Pair = tuple[str, str]  # the earlier one by spelling first: `release notes` is `notes, release` too

# Han, kana, Hangul; Thai, Lao, Burmese, Khmer: scripts written without spaces, as characters of a regex.
UNSPACED = (
    "\u3005-\u3007\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uac00-\ud7af\U00020000-\U0003ffff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1780-\u17d3"
)
_begins_unspaced = re.compile(f"[{UNSPACED}]").match


def has_neighbours(term: str) -> bool:
    """Return whether a term can be part of a pair: terms of scripts without spaces are pairs of characters already."""
    return term.isascii() or not _begins_unspaced(term)


def neighbours(terms: Sequence[str]) -> frozenset[Pair]:
    """Return the pairs of different terms that follow each other, in either order."""
    able = [has_neighbours(term) for term in terms]
    return frozenset(
        (first, second) if first < second else (second, first)
        for (first, one), (second, other) in pairwise(zip(terms, able, strict=True))
        if one and other and first != second
    )
