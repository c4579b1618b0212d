"""The best records by words, found with few of the lists of who holds which word.

First the lists of the rarest words are read, until there are enough records. From then on only those matter that could
still be among the best: who holds none of these words needs several of the others together, and is asked for by all
combinations of them that are worth enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from contextfind.adapters.postgres.index_scoring import Longs, Scores, Weights, look_up
from contextfind.adapters.postgres.index_statements import Asking, Steps

_ENOUGH = 2  # times as many passages as are wanted, for a start
_COMBINATIONS = 24  # asked for at once, at most; else by their most telling words alone
_DEPTH = 3  # words of a combination, at most


@dataclass(frozen=True, eq=False, slots=True)
class Ranked:
    """Records, ascending, and what each is worth."""

    ids: Longs
    worth: Scores

    @classmethod
    def of(cls, ids: Sequence[int], worth: Sequence[float]) -> "Ranked":
        """Return records with the most that each is said to be worth."""
        found, place = np.unique(np.array(ids, np.int64), return_inverse=True)
        most: Scores = np.full(len(found), -np.inf)
        np.maximum.at(most, place, np.array(worth, np.float64))
        return cls(found, most)

    def with_others(self, others: "Ranked") -> "Ranked":
        """Return both as one."""
        ids = [*self.ids.tolist(), *others.ids.tolist()]
        return Ranked.of(ids, [*self.worth.tolist(), *others.worth.tolist()])

    def least(self, wanted: int) -> float:
        """Return what the last of the best is worth, 0 while there are too few."""
        if len(self.ids) < wanted:
            return 0.0
        return float(np.partition(self.worth, len(self.ids) - wanted)[len(self.ids) - wanted])

    def cut(self, wanted: int) -> tuple[list[int], list[int]]:
        """Return who is better than the last of the best, and who is worth as much as that one."""
        if len(self.ids) <= wanted:
            return self.ids.tolist(), []
        last = self.least(wanted)
        return self.ids[self.worth > last].tolist(), self.ids[self.worth == last].tolist()


@dataclass(frozen=True, eq=False, slots=True)
class Lists:
    """The lists that one probe may read.

    keys: of the terms on each shelf where something may match, shape (shelves, terms). everywhere: all that stands there matches. most: passages read at most.
    share: of them that match, about.
    """

    asking: Asking
    weights: Weights
    keys: Longs
    wanted: int
    everywhere: bool
    most: int
    share: float

    def read(self, ways: list[str]) -> Steps:
        """Return the best records, and some more; say in `ways` what was read."""
        by_rarity = np.argsort(self.weights.holders, kind="stable")
        known = [int(at) for at in by_rarity if self.weights.holders[at]]
        rare = self._rare(known)
        found, whole = yield from self._held([[at] for at in rare])
        rest = [at for at in known if at not in rare]
        sets = self._combinations(rest, found.least(self.wanted))
        if sets:
            more, all_read = yield from self._held(sets)
            found, whole = found.with_others(more), whole and all_read
        told = f" and {len(sets)} sets of the others" if sets else ""
        ways.append(f"words by the lists of {len(rare)} of {len(known)} terms{told}")
        if not whole:
            ways.append("of which the beginning was read, because they are long")
        return found

    def _rare(self, known: Sequence[int]) -> list[int]:
        """Return the rarest terms that together have passages enough."""
        counts = self.weights.holders[list(known)].cumsum()
        enough = int(counts.searchsorted(_ENOUGH * self.wanted / self.share)) + 1
        return list(known[:enough])

    def _held(self, sets: Sequence[Sequence[int]]) -> Steps:
        """Return who holds all terms of one of some sets, and whether these are all."""
        statement = self.asking.holders(
            [keys for terms in sets for keys in self._keys(terms)],
            self.most,
            everywhere=self.everywhere,
        )
        [rows] = yield [statement]
        looked = look_up(self.weights, [stream for _, stream in rows])
        found = Ranked.of([record for record, _ in rows], looked.scores.tolist())
        bound = sum(min(int(self.weights.holders[at]) for at in terms) for terms in sets)
        return found, bound <= self.most or (self.everywhere and len(rows) < self.most)

    def _keys(self, terms: Sequence[int]) -> list[list[int]]:
        """Return the keys of some terms on each shelf."""
        return [list(keys) for keys in self.keys[:, list(terms)].tolist()]

    def _combinations(self, rest: Sequence[int], least: float) -> list[tuple[int, ...]]:
        """Return sets of terms of which whoever is worth more than `least` holds one.

        A term adds less than its idf, so only those count whose idf together is more.
        """
        idf = self.weights.idf
        terms = sorted(rest, key=lambda at: -idf[at])
        needed = least * self.weights.ceiling
        for depth in range(_DEPTH, 1, -1):
            found = list(_sets(terms, idf, needed, depth))
            if len(found) * len(self.keys) <= _COMBINATIONS:
                return found
        return list(_sets(terms, idf, needed, 1))


def _sets(
    terms: Sequence[int], idf: Scores, needed: float, depth: int
) -> Iterator[tuple[int, ...]]:
    """Yield the least sets whose idf together is more than needed, of longer ones the first terms.

    terms: the most telling first.
    """
    for place, term in enumerate(terms):
        left = needed - float(idf[term])
        if left < 0:
            yield (term,)
        elif float(idf[list(terms[place:])].sum()) <= needed:
            return
        elif depth == 1:
            yield (term,)
        else:
            for more in _sets(terms[place + 1 :], idf, left, depth - 1):
                yield (term, *more)
