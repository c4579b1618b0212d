"""Several segments to one, by arrays alone: no text is read again.

Columns go over in blocks, into whatever room they are given, so that merging a million rows into a file
takes no more memory than merging a few; and between two blocks it can be stopped.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.arrays import Heap, Room
from contextfind.adapters.embedded.building import Key, groups_of, starts_of
from contextfind.adapters.embedded.interleaving import interleave
from contextfind.adapters.embedded.postings import Longs, Postings, kind_of
from contextfind.adapters.embedded.segment import Segment, spread

_ITEMS = 4_096  # records or rows that are moved at once: a few MB of vectors
_POSTINGS = 1_000_000  # postings that are sorted at once: some 50 MB


class StoppedError(Exception):
    """Merging was told to stop; nothing came of it."""


@dataclass(frozen=True, slots=True)
class Source:
    """A segment and the records of it that are still wanted, ascending."""

    segment: Segment
    kept: Longs


@dataclass(frozen=True, slots=True)
class Site:
    """Where a merged segment is made, and who says that it is not wanted any more."""

    room: Room
    stopped: Callable[[], bool]

    def check(self) -> None:
        """Raise StoppedError when told to stop."""
        if self.stopped():
            raise StoppedError


@dataclass(frozen=True, slots=True)
class _Run:
    """Things of one source that stay: their numbers there, ascending, and their new ones."""

    old: Longs
    new: Longs


def merge_segments(sources: Sequence[Source], site: Site | None = None) -> Segment:
    """Return one segment of what is kept of several; a record's id is in one of them only.

    Raises:
        StoppedError: the site said so.
        OSError: the room is in a file, and the disk does not take it.

    """
    site = site or Site(Heap(), lambda: False)
    names, name_of = _merge_names(sources)
    keys, key_of = _merge_folders(sources)
    ids, level = _gathered("ids", sources), _gathered("level", sources)
    site.check()
    order = np.lexsort((ids, level, name_of, key_of))
    runs, starts = _runs(keys, key_of[order])
    target: Longs = np.empty(len(order), np.int64)
    target[order] = np.arange(len(order))
    records = [
        _Run(source.kept, new) for source, new in zip(sources, _split(sources, target), strict=True)
    ]
    return Segment(
        groups=groups_of(runs, starts),
        folders=[folder for _, _, folder in runs],
        folder_start=starts,
        names=names,
        name_of=name_of[order].astype(np.int32),
        ids=ids[order],
        level=level[order],
        context_type=_gathered("context_type", sources)[order],
        created=_gathered("created", sources)[order],
        updated=_gathered("updated", sources)[order],
        tags=_merge_postings("tags", [s.segment.tags for s in sources], records, site),
        **_rows_of(sources, records, site),
    )


def _rows_of(sources: Sequence[Source], records: Sequence[_Run], site: Site) -> dict[str, Any]:
    """Return what the merged segment has per row and per vector."""
    parts = [source.segment for source in sources]
    row_start = _starts([part.row_start for part in parts], records)
    rows = [
        _Run(_items(part.row_start, run.old), _items(row_start, run.new))
        for part, run in zip(parts, records, strict=True)
    ]
    vector_start = _starts([part.vector_start for part in parts], records)
    pair_start = _starts([part.pair_start for part in parts], rows)

    def carried(name: str, start: str, merged: Longs, runs: Sequence[_Run]) -> NDArray[Any]:
        columns = [(getattr(p, name), getattr(p, start)) for p in parts]
        return _carry(name, columns, runs, merged, site)

    return {
        "row_start": row_start,
        "vector_start": vector_start,
        "ordinal": carried("ordinal", "row_start", row_start, records),
        "length": carried("length", "row_start", row_start, records),
        "pair_start": pair_start,
        "pairs": carried("pairs", "pair_start", pair_start, rows),
        "vectors": carried("vectors", "vector_start", vector_start, records),
        "words": _merge_postings("words", [part.words for part in parts], rows, site),
    }


def _gathered(name: str, sources: Sequence[Source]) -> NDArray[Any]:
    """Return a column of all kept records, source by source."""
    return np.concatenate([getattr(source.segment, name)[source.kept] for source in sources])


def _split(sources: Sequence[Source], values: Longs) -> list[Longs]:
    """Cut what was concatenated over the kept records back into one part per source."""
    return np.split(values, np.cumsum([len(s.kept) for s in sources])[:-1])


def _runs(keys: Sequence[Key], key_of: Longs) -> tuple[list[Key], Longs]:
    """Return the keys that ascending places name and where each begins, the end put last."""
    begins = np.flatnonzero(np.diff(key_of, prepend=-1))
    return [keys[place] for place in key_of[begins].tolist()], np.append(begins, len(key_of))


def _starts(starts: Sequence[Longs], runs: Sequence[_Run]) -> Longs:
    """Return where the part of each merged thing begins, the end put last."""
    sizes: Longs = np.empty(sum(len(run.new) for run in runs), np.int64)
    for start, run in zip(starts, runs, strict=True):
        sizes[run.new] = start[run.old + 1] - start[run.old]
    return starts_of(sizes)


def _items(start: Longs, things: Longs) -> Longs:
    return spread(start[things], start[things + 1] - start[things])


def _places(size: int, old: Longs, new: Longs) -> Longs:
    """Return the new number of each old one, -1 where it is gone."""
    places: Longs = np.full(size, -1, np.int64)
    places[old] = new
    return places


def _merge_names(sources: Sequence[Source]) -> tuple[list[str], Longs]:
    """Return the names still in use and the place of each kept record's name."""
    used = [np.flatnonzero(np.bincount(s.segment.name_of[s.kept])) for s in sources]
    texts = [
        [s.segment.names[place] for place in places.tolist()]
        for s, places in zip(sources, used, strict=True)
    ]
    names, found = interleave(texts)
    columns = []
    for source, old, new in zip(sources, used, found, strict=True):
        moved = _places(len(source.segment.names), old, new)
        columns.append(moved[source.segment.name_of[source.kept]])
    return names, np.concatenate(columns)


def _merge_folders(sources: Sequence[Source]) -> tuple[list[Key], Longs]:
    """Return all folder keys in order and the place of each kept record's key."""
    keys, found = interleave([_folder_keys(s.segment) for s in sources])
    columns = []
    for source, moved in zip(sources, found, strict=True):
        at = np.searchsorted(source.segment.folder_start, source.kept, side="right") - 1
        columns.append(moved[at])
    return keys, np.concatenate(columns)


def _folder_keys(segment: Segment) -> list[Key]:
    return [
        (group.account, group.owner, folder)
        for group in segment.groups
        for folder in segment.folders[slice(*group.folders)]
    ]


def _merge_postings(
    name: str, parts: Sequence[Postings], runs: Sequence[_Run], site: Site
) -> Postings:
    """Return the postings of all parts, their members renumbered, those that are gone left out."""
    keys, places = interleave([part.keys for part in parts])
    sizes: Longs = np.zeros(len(keys), np.int64)
    shifts, most = [], 0
    for part, run, own in zip(parts, runs, places, strict=True):
        size = int(part.members.max(initial=-1)) + 1
        shift = _places(max(size, int(run.old.max(initial=-1)) + 1), run.old, run.new)
        kept, largest = _census(part, shift, site)
        sizes[own] += kept
        most = max(most, largest)
        shifts.append(shift)
    used = np.flatnonzero(sizes)
    bounds = starts_of(sizes)
    members = site.room.empty(f"{name}.members", (int(bounds[-1]),), np.int32)
    counts = site.room.empty(f"{name}.counts", (int(bounds[-1]),), kind_of(most))
    width = sum(len(run.new) for run in runs)
    for low, high in _blocks(bounds):
        site.check()
        found = [
            _renumbered(part, shift, own, (low, high))
            for part, shift, own in zip(parts, shifts, places, strict=True)
        ]
        places_in, members_in, counts_in = (
            np.concatenate(column) for column in zip(*found, strict=True)
        )
        order = np.argsort(places_in * width + members_in, kind="stable")
        members[bounds[low] : bounds[high]] = members_in[order]
        counts[bounds[low] : bounds[high]] = counts_in[order]
    start = np.append(bounds[:-1][used], bounds[-1])
    if len(used) < len(keys):
        keys = [keys[place] for place in used.tolist()]
    return Postings(keys, start, members, counts)


def _census(part: Postings, shift: Longs, site: Site) -> tuple[Longs, int]:
    """Return how many members of each key stay, and the largest count beside them."""
    sizes: Longs = np.diff(part.start)
    most = 0
    whole = not (shift < 0).any()
    for low, high in _blocks(part.start):
        site.check()
        block = slice(int(part.start[low]), int(part.start[high]))
        counts = part.counts[block]
        if not whole:
            kept = shift[part.members[block]] >= 0
            sizes[low:high] = np.add.reduceat(
                kept, part.start[low:high] - part.start[low], dtype=np.int64
            )
            counts = counts[kept]
        most = max(most, int(counts.max(initial=0)))
    return sizes, most


def _renumbered(
    part: Postings, shift: Longs, places: Longs, keys: tuple[int, int]
) -> tuple[Longs, Longs, NDArray[np.integer]]:
    """Return key, new member and count of what stays of some merged keys, in order of both."""
    first, last = np.searchsorted(places, keys).tolist()
    block = slice(int(part.start[first]), int(part.start[last]))
    key_of = np.repeat(places[first:last], np.diff(part.start[first : last + 1]))
    members = shift[part.members[block]]
    kept = members >= 0
    return key_of[kept], members[kept], part.counts[block][kept]


def _blocks(start: Longs) -> Iterator[tuple[int, int]]:
    """Yield adjacent ranges of keys with about `_POSTINGS` members together, and at least one key."""
    low, keys = 0, len(start) - 1
    while low < keys:
        high = int(np.searchsorted(start, start[low] + _POSTINGS, side="right")) - 1
        high = min(max(high, low + 1), keys)
        yield low, high
        low = high


def _carry(
    name: str,
    columns: Sequence[tuple[NDArray[Any], Longs]],
    runs: Sequence[_Run],
    merged: Longs,
    site: Site,
) -> NDArray[Any]:
    """Return a column of which every thing has an adjacent part: `columns` with where the parts begin."""
    first = columns[0][0]
    out = site.room.empty(name, (int(merged[-1]), *first.shape[1:]), first.dtype)
    for (column, start), run in zip(columns, runs, strict=True):
        for begin in range(0, len(run.old), _ITEMS):
            site.check()
            block = slice(begin, begin + _ITEMS)
            out[_items(merged, run.new[block])] = column[_items(start, run.old[block])]
    return out
