"""What an index found for one probe: a table of records with what each was measured at."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, compress, groupby, pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.records import LEVELS, Level, RecordId
from contextfind.domain.uri import SCHEME, Uri

Measured = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Hit:
    """One record, scored exactly on both channels, whichever channel put it forward.

    passage: ordinal of its best passage (largest cosine + words, first one on a tie).
    cosine: the largest over its passages; None when the probe or the record has no vector.
    words: the largest over its passages of `sum(idf * tf / (tf + norm)) / sum(idf)` in [0, 1):
        BM25 in Lucene's form, k1 .7, b .4, over all distinct terms of the probe; a term that
        no passage in scope holds counts with the largest idf. Passage counts and lengths behind idf
        and norm are those of the probe's account that `scope` may see (targets do not narrow them, other
        tenants and other users never move them). 0.0 when no term occurs.
    support: the mean cosine of its best `SUPPORTERS` passages, of all where it has fewer; None without cosine.
    phrases: the largest over its passages of `sum of (idf a + idf b) / 2` over the pairs (a, b) of terms
        that are neighbours (`domain/word_pairs`) in the probe and in the passage, divided by `sum(idf)` as `words` is. It puts nothing forward.
    known: the share of the probe's terms, by idf, that occur at all in what `scope` may see: the same for
        all hits of a probe, whatever `where` and the targets leave out. 0.0 when none does.
    shared: which of the probe's terms stand in its best passage.
    """

    id: RecordId
    uri: Uri
    level: Level
    passage: int
    cosine: float | None
    words: float
    known: float = 0.0
    support: float | None = None
    phrases: float = 0.0
    shared: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Hits(Sequence[Hit]):
    """Hits in columns, because some hundreds are looked at for the ten that are shown; reads like a sequence.

    folders: the prefix that the addresses beside each hit share, with its slash; empty for the root. names: last
    segments. levels, passages: numbers. cosines, supports: NaN where a record has none. terms, held: some terms, at least
    those of the probe that occur, and which hits share them, shape (hits, terms). The rest is as in `Hit`.
    """

    ids: NDArray[np.int64]
    folders: Sequence[str]
    names: Sequence[str]
    levels: NDArray[np.integer]
    passages: NDArray[np.integer]
    cosines: Measured
    words: Measured
    supports: Measured
    phrases: Measured
    known: float
    terms: tuple[str, ...]
    held: NDArray[np.bool_]

    @classmethod
    def of(cls, hits: Iterable[Hit]) -> "Hits":
        """Return the same as a table."""
        rows = list(hits)
        terms = tuple(sorted({term for hit in rows for term in hit.shared}))
        held = [[term in hit.shared for term in terms] for hit in rows]
        return cls(
            np.array([hit.id for hit in rows], np.int64),
            [_folder(hit.uri) for hit in rows],
            [hit.uri.name for hit in rows],
            np.array([hit.level.value for hit in rows], np.int64),
            np.array([hit.passage for hit in rows], np.int64),
            np.array([hit.cosine for hit in rows], np.float64),  # None becomes NaN
            np.array([hit.words for hit in rows], np.float64),
            np.array([hit.support for hit in rows], np.float64),
            np.array([hit.phrases for hit in rows], np.float64),
            rows[0].known if rows else 0.0,
            terms,
            np.array(held, np.bool_).reshape(len(rows), len(terms)),
        )

    @classmethod
    def joined(cls, tables: Sequence["Hits"]) -> "Hits":
        """Return several tables of one probe, none empty, as one in tree order: by (folder, name, level)."""
        folders = [folder for table in tables for folder in table.folders]
        names = _Chained([table.names for table in tables])
        levels = np.concatenate([table.levels for table in tables])
        if _follow_each_other(tables):
            return cls._of_columns(tables, folders, names, None)
        order = sorted(range(len(folders)), key=folders.__getitem__)
        for low, high in _runs([folders[place] for place in order]):
            if names.part(order[low]) != names.part(order[high - 1]):  # one table alone is in order
                order[low:high] = sorted(order[low:high], key=lambda at: (names[at], levels[at]))
        return cls._of_columns(
            tables,
            [folders[place] for place in order],
            _Chained([names], order),
            np.array(order, np.int64),
        )

    @classmethod
    def _of_columns(
        cls,
        tables: Sequence["Hits"],
        folders: Sequence[str],
        names: Sequence[str],
        places: NDArray[np.int64] | None,
    ) -> "Hits":
        """Return the columns of tables one after the other, then of each the values at `places` (None: all)."""

        def column(name: str) -> NDArray[Any]:
            values: NDArray[Any] = np.concatenate([getattr(table, name) for table in tables])
            return values if places is None else values[places]

        return cls(
            column("ids"),
            folders,
            names,
            column("levels"),
            column("passages"),
            column("cosines"),
            column("words"),
            column("supports"),
            column("phrases"),
            tables[0].known,
            tables[0].terms,
            column("held"),
        )

    @cached_property
    def leaves(self) -> NDArray[np.bool_]:
        """Which hits are files."""
        found: NDArray[np.bool_] = self.levels == Level.DETAIL.value
        return found

    def __eq__(self, other: object) -> bool:
        """Whether these are the same hits in the same order."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # it holds arrays

    def __len__(self) -> int:
        """How many there are."""
        return len(self.folders)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Hit]: ...
    def __getitem__(self, place: int | slice) -> Hit | Sequence[Hit]:
        """Return a hit, or several."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        return Hit(
            RecordId(self.ids.item(place)),
            self.uri(place),
            LEVELS[self.levels.item(place)],
            self.passages.item(place),
            _known(self.cosines.item(place)),
            self.words.item(place),
            self.known,
            _known(self.supports.item(place)),
            self.phrases.item(place),
            frozenset(compress(self.terms, self.held[place].tolist())),
        )

    def folder(self, place: int) -> str:
        """Return the prefix of what lies below a hit, with its slash."""
        address = self.folders[place] + self.names[place]
        return f"{address}/" if address else SCHEME

    def uri(self, place: int) -> Uri:
        """Return the address of a hit."""
        return Uri(self.folders[place] + self.names[place] or SCHEME)  # only the root has neither


class _Chained(Sequence[str]):
    """Several sequences as one, or some places of one, read when they are asked for."""

    def __init__(self, parts: Sequence[Sequence[str]], places: Sequence[int] | None = None) -> None:
        self._parts = parts
        self._places = places
        self._begins = list(accumulate(map(len, parts), initial=0))

    def __len__(self) -> int:
        """How many there are."""
        return self._begins[-1] if self._places is None else len(self._places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        """Return one, or several."""
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        at = place if self._places is None else self._places[place]
        part = self.part(at)
        return self._parts[part][at - self._begins[part]]

    def part(self, place: int) -> int:
        """Return which of the parts a place lies in."""
        return bisect_right(self._begins, place) - 1


def _follow_each_other(tables: Sequence[Hits]) -> bool:
    """Whether all of each table stands before all of the next one in tree order."""
    return all(one.folders[-1] < other.folders[0] for one, other in pairwise(tables))


def _runs(keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where equal keys stand together, more than one."""
    low = 0
    for _, run in groupby(keys):
        high = low + sum(1 for _ in run)
        if high - low > 1:
            yield low, high
        low = high


def _folder(uri: Uri) -> str:
    parent = uri.parent
    return "" if parent is None else parent.folder


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
