"""A write-once part of the index: records in tree order, their passages as rows.

Records are sorted by (account, owner, folder of the parent, name, level), so everything an account
shares, everything one user owns, everything below a directory and all children of a directory are
ranges of record numbers. The rows (passages) and vectors of a record are adjacent and in the same
order, so a range of records is a range of rows and a range of vectors too.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from contextfind.adapters.embedded.postings import Ints, Longs, Postings
from contextfind.domain.records import ContextType, Level, Matrix

Bytes = NDArray[np.uint8]
CONTEXT_TYPES = tuple(ContextType)  # a column holds the place in this tuple
LEVELS = tuple(Level)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bitmap_of(members: NDArray[np.integer]) -> BitMap:
    """Return ascending numbers as a bitmap; through the buffer protocol, ten times faster."""
    return BitMap(array("I", members.astype(np.uint32).tobytes()))


def numbers_of(bitmap: BitMap) -> Longs:
    """Return the members of a bitmap, ascending."""
    return np.frombuffer(bitmap.to_array(), np.uint32).astype(np.int64)


def micros(moment: datetime) -> int:
    """Return microseconds since 1970, exactly."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def spread(starts: Longs, counts: Longs) -> Longs:
    """Return the ranges `starts[i] .. starts[i] + counts[i]` one after the other."""
    total = int(counts.sum())
    shift: Longs = starts - (np.cumsum(counts) - counts)
    places: Longs = shift.repeat(counts)
    places += np.arange(total)
    return places


@dataclass(frozen=True, slots=True)
class Group:
    """What one user owns in an account, or (owner empty) what the account shares.

    Both pairs are half-open ranges: of records and of folders.
    """

    account: str
    owner: str
    records: tuple[int, int]
    folders: tuple[int, int]


@dataclass(frozen=True, eq=False, slots=True)
class Names(Sequence[str]):
    """Names of some records, looked up when they are read: few of them are."""

    names: Sequence[str]
    places: NDArray[np.integer]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        """Return a name, or several."""
        if isinstance(place, slice):
            return [self.names[at] for at in self.places[place].tolist()]
        return self.names[int(self.places[place])]


@dataclass(frozen=True, eq=False)
class Segment:
    """Columns per record, per row and per vector; see the module for the order.

    folders, folder_start: folder f holds the records `folder_start[f] .. folder_start[f + 1]`;
        the strings are sorted within each group.
    names, name_of: sorted distinct names and the place of each record's name.
    created, updated: microseconds since 1970, UTC.
    row_start, vector_start: shape (records + 1,); the rows and the vectors of each record. A record
        has as many vectors as rows, or none.
    ordinal, length: per row: ordinal of the passage, number of its terms.
    pair_start: shape (rows + 1,); the pairs of neighbouring words of each row, as numbers (`phrases`).
    vectors: shape (vectors, dimension).
    words: term -> rows; tags: tag -> records.
    """

    groups: tuple[Group, ...]
    folders: list[str]
    folder_start: Longs
    names: list[str]
    name_of: Ints
    ids: Longs
    level: Bytes
    context_type: Bytes
    created: Longs
    updated: Longs
    row_start: Longs
    vector_start: Longs
    ordinal: Ints
    length: Ints
    pair_start: Longs
    pairs: NDArray[np.uint32]
    vectors: Matrix
    words: Postings
    tags: Postings

    @property
    def size(self) -> int:
        """How many records there are."""
        return len(self.ids)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.ordinal)

    @cached_property
    def vectors_are_records(self) -> bool:
        """Whether every record has one vector, so that their numbers are the same."""
        return bool(np.array_equal(self.vector_start, np.arange(self.size + 1)))

    @cached_property
    def rows_are_records(self) -> bool:
        """Whether every record has one row, so that their numbers are the same."""
        return bool(np.array_equal(self.row_start, np.arange(self.size + 1)))

    @cached_property
    def total_length(self) -> Longs:
        """Terms in all rows before each one, shape (rows + 1,)."""
        return np.concatenate(([0], np.cumsum(self.length, dtype=np.int64)))

    @cached_property
    def record_of(self) -> Ints:
        """The record of each row."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.row_start))

    @cached_property
    def of_level(self) -> tuple[BitMap, ...]:
        """The records of each level."""
        return tuple(bitmap_of(np.flatnonzero(self.level == lv.value)) for lv in LEVELS)

    @cached_property
    def of_context_type(self) -> tuple[BitMap, ...]:
        """The records of each context type, in the order of `CONTEXT_TYPES`."""
        kinds = range(len(CONTEXT_TYPES))
        return tuple(bitmap_of(np.flatnonzero(self.context_type == kind)) for kind in kinds)

    @cached_property
    def _groups_by_key(self) -> dict[tuple[str, str], Group]:
        return {(group.account, group.owner): group for group in self.groups}

    @cached_property
    def _ids_in_order(self) -> tuple[Longs, Longs]:
        order = np.argsort(self.ids)
        return self.ids[order], order

    def vector_range(self, group: Group) -> tuple[int, int]:
        """Return the half-open range of the vectors of a group."""
        low, high = group.records
        return (int(self.vector_start[low]), int(self.vector_start[high]))

    def visible(self, account: str, user: str) -> tuple[Group, ...]:
        """Return the groups that a user may see: the shared one and the user's own."""
        owners = ("",) if user == "" else ("", user)
        found = (self._groups_by_key.get((account, owner)) for owner in owners)
        return tuple(group for group in found if group is not None)

    def holding(self, ids: Longs) -> Longs:
        """Return the numbers of the records with these ids, as far as they are here."""
        known, order = self._ids_in_order
        places = np.searchsorted(known, ids)
        inside = places < len(known)
        places, wanted = places[inside], ids[inside]
        found: Longs = order[places[known[places] == wanted]]
        return found

    def folder_range(self, group: Group, first: str, beyond: str | None) -> tuple[int, int]:
        """Return the records of the group whose folder lies in [first, beyond); None = to the end."""
        low, high = group.folders
        start = bisect_left(self.folders, first, low, high)
        stop = high if beyond is None else bisect_left(self.folders, beyond, low, high)
        return (int(self.folder_start[start]), int(self.folder_start[stop]))

    def folder_at(self, group: Group, folder: str) -> tuple[int, int]:
        """Return the records of the group that lie directly in a folder."""
        low, high = group.folders
        place = bisect_left(self.folders, folder, low, high)
        if place == high or self.folders[place] != folder:
            return (0, 0)
        return (int(self.folder_start[place]), int(self.folder_start[place + 1]))

    def named(self, within: tuple[int, int], first: str, beyond: str | None) -> tuple[int, int]:
        """Return the records of one folder's range whose name lies in [first, beyond)."""
        low, high = within
        here = self.name_of[low:high]
        last = len(self.names) if beyond is None else bisect_left(self.names, beyond)
        bounds = np.array([bisect_left(self.names, first), last], np.int32)
        start, stop = np.searchsorted(here, bounds).tolist()
        return (low + start, low + stop)

    def folder_of(self, records: Longs) -> list[str]:
        """Return the folder of each record."""
        places = self.folder_start.searchsorted(records, side="right") - 1
        return [self.folders[place] for place in places.tolist()]

    def named_of(self, records: Longs) -> "Names":
        """Return the name of each record."""
        return Names(self.names, self.name_of[records])

    def rows_of(self, records: Longs) -> tuple[Longs, Longs]:
        """Return the rows of the records one after the other, and how many each has."""
        if self.rows_are_records:
            return records, np.ones(len(records), np.int64)
        starts = self.row_start[records]
        counts = self.row_start[records + 1] - starts
        return spread(starts, counts), counts

    def vectors_of(self, records: Longs) -> tuple[Longs, Longs]:
        """Return the vectors of the records one after the other, and how many each has."""
        if self.vectors_are_records:
            return records, np.ones(len(records), np.int64)
        starts = self.vector_start[records]
        counts = self.vector_start[records + 1] - starts
        return spread(starts, counts), counts


def union_of(ranges: Iterable[tuple[int, int]]) -> BitMap:
    """Return the numbers in half-open ranges."""
    found = BitMap()
    for start, stop in ranges:
        found.add_range(start, stop)
    return found
