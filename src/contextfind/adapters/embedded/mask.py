"""A filter to a bitmap of a segment's records, one arm per node of the language."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import and_, or_
from typing import assert_never

import numpy as np
from pyroaring import BitMap

from contextfind.adapters.embedded.segment import (
    CONTEXT_TYPES,
    LEVELS,
    Group,
    Segment,
    bitmap_of,
    micros,
    union_of,
)
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filters import (
    And,
    Between,
    Contains,
    Everything,
    Filter,
    Not,
    Nothing,
    Numbered,
    OneOf,
    Or,
    Prefixed,
    Tagged,
    Under,
    Used,
)
from contextfind.domain.plain_text import beyond
from contextfind.domain.uri import ROOT, SCHEME, Uri

Range = tuple[int, int]
_KEPT = 64  # compiled filters of one caller; of a million records each costs up to 125 kB


class Mask:
    """Which records of some groups of a segment match a filter; answers are kept per node, the first ones.

    The bitmaps are shared: nobody may change them. Members outside of the groups and dead ones mean nothing
    (the caller cuts them off), except that `everything` and `Not` hold none.
    """

    def __init__(self, segment: Segment, groups: Sequence[Group], dead: BitMap) -> None:
        self._segment = segment
        self._groups = groups
        self._known: dict[Filter, BitMap] = {}
        self.everything = union_of(group.records for group in groups) - dead

    def records(self, where: Filter) -> BitMap:
        """Return the records that match.

        Raises:
            InvalidArgumentError: the filter asks for what only the store knows.

        """
        if isinstance(where, Everything):
            return self.everything
        known = self._known.get(where)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[where] = self._compile(where)
        return known

    def _compile(self, where: Filter) -> BitMap:  # noqa: C901, PLR0911, PLR0912 - one arm per node
        match where:
            case Everything():
                return self.everything
            case Nothing():
                return BitMap()
            case And(parts):
                return self._all_of(parts)
            case Or(parts):
                return reduce(or_, map(self.records, parts), BitMap())
            case Not(part):
                return self.everything - self.records(part)
            case OneOf():
                return self._one_of(where)
            case Tagged(tag):
                span = slice(*self._segment.tags.span(tag))
                return bitmap_of(self._segment.tags.members[span])
            case Between():
                return self._between(where)
            case Under(directory):
                return union_of(r for g in self._groups for r in under(self._segment, g, directory))
            case Prefixed(prefix):
                return union_of(r for g in self._groups for r in self._prefixed(g, prefix))
            case Contains():
                return self._containing(where)
            case Numbered():
                return bitmap_of(np.sort(self._segment.holding(where.ids)))
            case Used():
                raise _only_stored(where)
            case _:
                assert_never(where)

    def _all_of(self, parts: Sequence[Filter]) -> BitMap:
        """Return the intersection, beginning with what is rarest: that bounds the work."""
        if not parts:
            return self.everything
        return reduce(and_, sorted(map(self.records, parts), key=len))

    def _one_of(self, where: OneOf) -> BitMap:
        match where.field:
            case "level":
                columns = self._segment.of_level
                spelled = [str(level.value) for level in LEVELS]
            case "context_type":
                columns = self._segment.of_context_type
                spelled = [kind.value for kind in CONTEXT_TYPES]
            case "name":
                return self._named(where.values.__contains__)
            case "parent":
                return union_of(self._children(where.values))
            case _:
                assert_never(where.field)
        wanted = (c for c, text in zip(columns, spelled, strict=True) if text in where.values)
        return reduce(or_, wanted, BitMap())

    def _containing(self, where: Contains) -> BitMap:
        wanted, tags = where.substring, self._segment.tags
        match where.field:
            case "abstract":
                raise _only_stored(where)
            case "name":
                return self._named(lambda name: wanted in name)
            case "tags":
                spans = [slice(*tags.span(tag)) for tag in tags.keys if wanted in tag]
                members = [tags.members[span] for span in spans]
                return bitmap_of(np.unique(np.concatenate([tags.members[:0], *members])))
            case _:
                assert_never(where.field)

    def _named(self, wanted: Callable[[str], bool]) -> BitMap:
        places = [place for place, name in enumerate(self._segment.names) if wanted(name)]
        return bitmap_of(np.flatnonzero(np.isin(self._segment.name_of, places)))

    def _children(self, parents: frozenset[str]) -> Iterator[Range]:
        folders = [folder for folder in map(_folder_of_parent, parents) if folder is not None]
        for group in self._groups:
            for folder in folders:
                yield self._segment.folder_at(group, folder)

    def _between(self, where: Between) -> BitMap:
        segment = self._segment
        column = segment.created if where.field == "created_at" else segment.updated
        held = np.ones(segment.size, np.bool_)
        if where.since is not None:
            held &= column >= micros(where.since)
        if where.until is not None:
            held &= column <= micros(where.until)
        return bitmap_of(np.flatnonzero(held))

    def _prefixed(self, group: Group, prefix: str) -> Iterator[Range]:
        segment = self._segment
        yield segment.folder_range(group, prefix, beyond(prefix))
        if SCHEME.startswith(prefix):
            yield segment.folder_at(group, "")  # the root, whose text is the scheme itself
        folder = prefix[: prefix.rfind("/") + 1]
        name = prefix[len(folder) :]
        if name:
            within = segment.folder_at(group, folder)
            yield segment.named(within, name, beyond(name))


def under(segment: Segment, group: Group, directory: Uri) -> tuple[Range, Range]:
    """Return the records of a group strictly below a directory, and those at its address."""
    below = segment.folder_range(group, directory.folder, beyond(directory.folder))
    if directory == ROOT:
        return below, segment.folder_at(group, "")
    parent = directory.parent or ROOT
    within = segment.folder_at(group, parent.folder)
    return below, segment.named(within, directory.name, directory.name + "\x00")


def _folder_of_parent(parent: str) -> str | None:
    """Return the folder of the records with this parent; None for a text that is no address."""
    if parent in ("", SCHEME):
        return parent
    return None if parent.endswith("/") else parent + "/"


def _only_stored(where: Contains | Used) -> InvalidArgumentError:
    return InvalidArgumentError(f"the search index cannot answer {where}; the store can")
