"""Records out of a tree with all that belongs to them, and into it as they were."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from contextfind.adapters.memory.tree import Place, Tree, clean, storable
from contextfind.domain.records import Level, Record, RecordId
from contextfind.ports.store import RecordCopy


def copies_of(
    tree: Tree, account: str | None, after: Record | None, limit: int, most: int
) -> list[RecordCopy]:
    """Return records by account, address and level, with at most `most` passages together."""
    records = [record for record in tree.records.values() if account in (None, record.account)]
    if after is not None:
        records = [record for record in records if _place(record) > _place(after)]
    records = sorted(records, key=_place)[:limit]
    held = accumulate(len(tree.passages[record.id]) for record in records)
    fitting = sum(total <= most for total in held)
    return [_copy(tree, record) for record in records[: max(fitting, 1)]]


def restore(tree: Tree, copies: Sequence[RecordCopy], ensure: Sequence[RecordCopy]) -> int:
    """Write records as they are given, in place; return how many are other than they were.

    Raises:
        ConflictError: the tree is spoilt then; throw it away.

    """
    waiting = [record for record in tree.records if tree.lacking(record)]
    for copy in copies:
        for passage, vector in zip(copy.passages, copy.vectors, strict=True):
            if vector is not None:
                tree.vectors.setdefault(passage.digest, vector)
    written = sum(_put(tree, copy) for copy in copies)
    for copy in ensure:
        if _place(copy.record) not in tree.places:
            written += _put(tree, replace(copy, stale=True))
    for record in waiting:
        if not tree.lacking(record):
            tree.note(record)
    tree.drop_loose_vectors()
    return written


def _place(record: Record) -> Place:
    return (record.account, record.uri, record.level)


def _copy(tree: Tree, record: Record) -> RecordCopy:
    passages = tree.passages[record.id]
    vectors = [tree.vectors.get(passage.digest) for passage in passages]
    stale = record.level is Level.ABSTRACT and (record.account, record.uri) in tree.stale
    return RecordCopy(record, passages, vectors, stale)


def _put(tree: Tree, copy: RecordCopy) -> bool:
    """Write one record; return whether it is other than it was."""
    place = _place(copy.record)
    known = tree.places.get(place)
    before = None if known is None else tree.records[known]
    if known is None:
        tree.check_kind(copy.record.account, copy.record.uri, copy.record.level)
        tree.last_id += 1
    record = _clean(copy.record, RecordId(tree.last_id) if known is None else known)
    passages = tuple(sorted(map(clean, copy.passages), key=lambda passage: passage.ordinal))
    changed = before != record or tree.passages[record.id] != passages
    if changed:
        tree.keep(record, passages)
    summarised = before is not None and before.abstract != record.abstract
    if copy.stale or (summarised and record.level is Level.ABSTRACT):
        tree.mark_stale(record.account, record.uri)
    return changed


def _clean(record: Record, id_here: RecordId) -> Record:
    return replace(
        record,
        id=id_here,
        abstract=storable(record.abstract),
        tags=tuple(map(storable, record.tags)),
        origin=storable(record.origin),
    )
