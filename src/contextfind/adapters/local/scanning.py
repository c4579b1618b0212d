"""Which of a few terms a text has, without taking all of its terms."""

from collections.abc import Callable, Collection, Iterator
from collections.abc import Set as AbstractSet

_MOST_TRIES = 8  # of one term in one text: a beginning as common as that says nothing


class Scan:
    """Some terms, and where in a text it is worth looking for them.

    The tokenizer changes no more than the last letter of a word's beginning (`happi` of happy), but
    for words such as dying (`die`). So a text in ASCII needs to be taken apart only around what begins like
    a term: that takes half the time, because it touches little memory.

    terms_of: the terms of a run of characters without white space.
    """

    def __init__(
        self, wanted: AbstractSet[str], terms_of: Callable[[str], Collection[str]]
    ) -> None:
        self._wanted = frozenset(wanted)
        self._terms_of = terms_of
        self._beginnings = [
            (term, _beginning(term), term[0].isalpha()) for term in self._wanted if term.isascii()
        ]

    def within(self, text: str) -> AbstractSet[str] | None:
        """Return which of the terms the text has; None where all of it must be taken apart to tell."""
        if not text.isascii():
            return None
        low = text.lower()
        found: set[str] = set()
        for term, beginning, is_word in self._beginnings:
            places = _places(text, low, beginning, is_word=is_word)
            if term not in found and not self._look(text, places, term, found):
                return None
        return found or None

    def _look(self, text: str, places: Iterator[int], term: str, found: set[str]) -> bool:
        """Add the terms at these places until it is among them; False where that leads nowhere."""
        for tries, at in enumerate(places):
            if tries == _MOST_TRIES:
                return False
            for run in _around(text, at).split():
                found.update(self._wanted.intersection(self._terms_of(run)))
            if term in found:
                break
        return True


def _beginning(term: str) -> str:
    """Return what every word with this term has in it, in lower case."""
    if len(term) == 3 and term.endswith("ie"):  # noqa: PLR2004 - die of dying, vie of vying
        return term[:1]
    return term[:-1] if len(term) > 2 else term  # noqa: PLR2004 - words of two letters stay


def _places(text: str, low: str, beginning: str, *, is_word: bool) -> Iterator[int]:
    """Yield where a term may begin: not within a word, but the parts of `parseFile` have capitals."""
    at = low.find(beginning)
    while at >= 0:
        if not is_word or at == 0 or not low[at - 1].isalpha() or text[at].isupper():
            yield at
        at = low.find(beginning, at + 1)


def _around(text: str, at: int) -> str:
    """Return what stands around a place up to the next blanks or ends of lines."""
    begin = max(text.rfind(" ", 0, at), text.rfind("\n", 0, at)) + 1
    line = text.find("\n", at)
    stretch = text[begin:] if line < 0 else text[begin:line]
    return stretch[: at - begin] + stretch[at - begin :].partition(" ")[0]
