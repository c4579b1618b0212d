"""Which words of a question stand in a text, as the question spells them."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from contextfind.ports import Tokenizer

_LATIN = r"0-9A-Za-z\u00c0-\u024f"
_PIECE = re.compile(
    rf"[{_LATIN}](?:[{_LATIN}_.+#'\-]*[{_LATIN}+#])?"  # words, identifiers, codes
    rf"|[^\W_{_LATIN}]+"  # a run of any other script
)


class Echoes:
    """The pieces of one question: words, and runs of scripts that are written without spaces.

    The index knows stems and neighbouring characters; people want to read `canary` and `数据库`.
    """

    def __init__(self, query: str, tokenizer: Tokenizer) -> None:
        asked = frozenset(
            tokenizer.terms(query)
        )  # function words count only where there are no others
        all_told = [(piece, frozenset(tokenizer.terms(piece))) for piece in _PIECE.findall(query)]
        told = [(piece, terms) for piece, terms in all_told if not terms.isdisjoint(asked)]
        self._pieces = [(piece, terms, _is_run(piece, terms)) for piece, terms in told]

    def within(self, present: AbstractSet[str]) -> list[str]:
        """Return the words and the longest stretches that a text shares, each once.

        present: which terms of the question the text has.
        """
        found: dict[str, None] = {}
        for piece, own, is_run in self._pieces:
            if is_run:
                found |= dict.fromkeys(_stretches(piece, present))
            elif not own.isdisjoint(present):
                found[piece] = None
        return list(found)


def _is_run(piece: str, terms: AbstractSet[str]) -> bool:
    """Whether a piece is of a script whose terms are characters and pairs of them."""
    return len(piece) > 1 and any(len(term) == 1 for term in terms - {piece})


def _stretches(run: str, present: AbstractSet[str]) -> Iterator[str]:
    """Yield the stretches of a run whose neighbouring characters all stand together in the text."""
    begin = 0
    for end in range(1, len(run) + 1):
        if end < len(run) and run[end - 1 : end + 1] in present:
            continue
        if end - begin > 1:
            yield run[begin:end]
        begin = end
