"""Several segments to one, by arrays alone: no text is read again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.embedded.building import Key, groups_of, runs_of, starts_of
from contextfind.adapters.embedded.postings import Ints, Longs, Postings, pack
from contextfind.adapters.embedded.segment import Segment, spread
from contextfind.domain.records import Matrix

_Number = TypeVar("_Number", bound=np.generic)
_BLOCK = 4_096  # vectors copied at once: a few MB instead of a second matrix


@dataclass(frozen=True, slots=True)
class Source:
    """A segment and the records of it that are still wanted, ascending."""

    segment: Segment
    kept: Longs


def merge_segments(sources: Sequence[Source]) -> Segment:
    """Return one segment of what is kept of several; a record's id is in one of them only."""
    names, name_of = _merge_names(sources)
    keys, key_of = _merge_folders(sources)
    ids = np.concatenate([s.segment.ids[s.kept] for s in sources])
    level = np.concatenate([s.segment.level[s.kept] for s in sources])
    order = np.lexsort((ids, level, name_of, key_of))
    runs, starts = runs_of([keys[place] for place in key_of[order].tolist()])
    target: Longs = np.empty(len(order), np.int64)
    target[order] = np.arange(len(order))
    rows = _move([(s.segment.row_start, s.kept) for s in sources], target)
    vectors = _move([(s.segment.vector_start, s.kept) for s in sources], target)
    pairs = _move(
        [(s.segment.pair_start, old) for s, old in zip(sources, rows.old, strict=True)],
        np.concatenate(rows.new),
    )
    return Segment(
        groups=groups_of(runs, starts),
        folders=[folder for _, _, folder in runs],
        folder_start=starts,
        names=names,
        name_of=name_of[order].astype(np.int32),
        ids=ids[order],
        level=level[order],
        context_type=np.concatenate([s.segment.context_type[s.kept] for s in sources])[order],
        created=np.concatenate([s.segment.created[s.kept] for s in sources])[order],
        updated=np.concatenate([s.segment.updated[s.kept] for s in sources])[order],
        row_start=rows.starts,
        vector_start=vectors.starts,
        ordinal=_carry_column([s.segment.ordinal for s in sources], rows),
        length=_carry_column([s.segment.length for s in sources], rows),
        pair_start=pairs.starts,
        pairs=_carry_column([s.segment.pairs for s in sources], pairs),
        vectors=_carry_vectors([s.segment.vectors for s in sources], vectors),
        words=_merge_postings(
            [s.segment.words for s in sources],
            [
                _places(s.segment.rows, old, new)
                for s, old, new in zip(sources, rows.old, rows.new, strict=True)
            ],
        ),
        tags=_merge_postings(
            [s.segment.tags for s in sources],
            [
                _places(s.segment.size, s.kept, new)
                for s, new in zip(sources, _split(sources, target), strict=True)
            ],
        ),
    )


@dataclass(frozen=True, slots=True)
class _Move:
    """Where adjacent items (rows or vectors of the kept records, pairs of their rows) go.

    starts: first item of each merged record (or row), the end put last. old, new: per source, the items taken
    and where they land.
    """

    starts: Longs
    old: list[Longs]
    new: list[Longs]


def _move(parts: Sequence[tuple[Longs, Longs]], target: Longs) -> _Move:
    sizes = [start[kept + 1] - start[kept] for start, kept in parts]
    together = np.concatenate(sizes)
    in_order: Longs = np.empty(len(target), np.int64)
    in_order[target] = together
    starts = starts_of(in_order)
    landing = starts[target]
    old: list[Longs] = []
    new: list[Longs] = []
    begin = 0
    for (start, kept), size in zip(parts, sizes, strict=True):
        old.append(spread(start[kept], size))
        new.append(spread(landing[begin : begin + len(kept)], size))
        begin += len(kept)
    return _Move(starts, old, new)


def _split(sources: Sequence[Source], values: Longs) -> list[Longs]:
    """Cut what was concatenated over the kept records back into one part per source."""
    return np.split(values, np.cumsum([len(s.kept) for s in sources])[:-1])


def _places(size: int, old: Longs | Ints, new: Longs) -> Longs:
    """Return the new number of each old one, -1 where it is gone."""
    places: Longs = np.full(size, -1, np.int64)
    places[old] = new
    return places


def _merge_names(sources: Sequence[Source]) -> tuple[list[str], Longs]:
    """Return the names still in use and the place of each kept record's name."""
    used = [np.unique(s.segment.name_of[s.kept]) for s in sources]
    texts = [
        [s.segment.names[place] for place in places.tolist()]
        for s, places in zip(sources, used, strict=True)
    ]
    names = sorted(set().union(*texts))
    place_of = {name: place for place, name in enumerate(names)}
    columns = []
    for source, places, known in zip(sources, used, texts, strict=True):
        moved = _places(len(source.segment.names), places, _array([place_of[t] for t in known]))
        columns.append(moved[source.segment.name_of[source.kept]])
    return names, np.concatenate(columns)


def _merge_folders(sources: Sequence[Source]) -> tuple[list[Key], Longs]:
    """Return all folder keys in order and the place of each kept record's key."""
    known = [_folder_keys(s.segment) for s in sources]
    keys = sorted(set().union(*known))
    place_of = {key: place for place, key in enumerate(keys)}
    columns = []
    for source, own in zip(sources, known, strict=True):
        moved = _array([place_of[key] for key in own])
        at = np.searchsorted(source.segment.folder_start, source.kept, side="right") - 1
        columns.append(moved[at])
    return keys, np.concatenate(columns)


def _folder_keys(segment: Segment) -> list[Key]:
    return [
        (group.account, group.owner, folder)
        for group in segment.groups
        for folder in segment.folders[slice(*group.folders)]
    ]


def _merge_postings(parts: Sequence[Postings], places: Sequence[Longs]) -> Postings:
    """Return the postings of all parts, their members renumbered, those that are gone left out."""
    keys = sorted(set().union(*(part.keys for part in parts)))
    place_of = {key: place for place, key in enumerate(keys)}
    key_columns, member_columns, count_columns = [], [], []
    for part, moved in zip(parts, places, strict=True):
        members = moved[part.members]
        kept = members >= 0
        key_of = np.repeat(_array([place_of[key] for key in part.keys]), np.diff(part.start))
        key_columns.append(key_of[kept])
        member_columns.append(members[kept])
        count_columns.append(part.counts[kept])
    return pack(
        keys,
        np.concatenate(key_columns),
        np.concatenate(member_columns),
        np.concatenate(count_columns),
    )


def _carry_column(columns: Sequence[NDArray[_Number]], move: _Move) -> NDArray[_Number]:
    out = np.empty(int(move.starts[-1]), columns[0].dtype)
    for column, old, new in zip(columns, move.old, move.new, strict=True):
        out[new] = column[old]
    return out


def _carry_vectors(matrices: Sequence[Matrix], move: _Move) -> Matrix:
    out: Matrix = np.empty((int(move.starts[-1]), matrices[0].shape[1]), np.float32)
    for matrix, old, new in zip(matrices, move.old, move.new, strict=True):
        for begin in range(0, len(old), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            out[new[block]] = matrix[old[block]]
    return out


def _array(numbers: Sequence[int]) -> Longs:
    return np.array(numbers, np.int64)
