"""The vectors of questions that were asked a moment ago."""

from collections import OrderedDict
from collections.abc import Sequence

from contextfind.domain.records import Vector
from contextfind.ports import Embedder

_KEPT = 1_000  # vectors: about 2 MB of 384 numbers each with their texts
_LONGEST = 1_000  # characters of a question that is kept; longer ones hardly come twice


class RecentVectors:
    """Asks an embedder, and remembers what it said; the question unused for longest is forgotten.

    remembered, asked: how many questions had their vector already, and how many had not.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self.remembered = 0
        self.asked = 0

    async def of(self, questions: Sequence[str]) -> Sequence[Vector]:
        """Return one unit vector per question, in order; one call for all that are new.

        Raises:
            UnavailableError: the embedder does not answer, and some are new.

        """
        there = {text: self._known[text] for text in questions if text in self._known}
        for text in there:
            self._known.move_to_end(text)
        fresh = [text for text in dict.fromkeys(questions) if text not in there]
        self.remembered += len(there)
        self.asked += len(fresh)
        if fresh:
            rows = await self._embedder.embed(fresh, "query")
            there |= dict(zip(fresh, rows, strict=True))
            self._keep({text: there[text] for text in fresh if len(text) <= _LONGEST})
        return [there[text] for text in questions]

    def _keep(self, vectors: dict[str, Vector]) -> None:
        self._known |= {text: row.copy() for text, row in vectors.items()}  # not the whole matrix
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
