"""Records out of the database with all that belongs to them, and into it as they were."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np
from psycopg import AsyncConnection

from contextfind.adapters.postgres.committing import note_arrivals
from contextfind.adapters.postgres.ledger import Ledger
from contextfind.adapters.postgres.rows import (
    PASSAGE_COLUMNS,
    RECORD_COLUMNS,
    Row,
    clean_passages,
    clean_tags,
    columns,
    passage_of,
    record_of,
)
from contextfind.adapters.postgres.texts import clean
from contextfind.adapters.postgres.tree_rows import TreeRows
from contextfind.domain.records import Level, Record, RecordId, Vector
from contextfind.ports.store import RecordCopy, Restored

_HELD = (  # the record, the vector, the passage
    f"SELECT p.record, v.vector, {columns(PASSAGE_COLUMNS, 'p')} FROM passages p"  # noqa: S608 - fixed text
    " LEFT JOIN vectors v ON v.digest = p.digest WHERE p.record = ANY(%s) ORDER BY p.record, p.ordinal"
)


async def read_copies(
    connection: AsyncConnection,
    account: str | None,
    after: Record | None,
    limit: int,
    most: int,
) -> list[RecordCopy]:
    """Return records by account, address and level, with at most `most` passages together.

    The first one comes however many passages it has.
    """
    records = await _next_records(connection, account, after, limit, most)
    cursor = await connection.execute(_HELD, ([record.id for record in records],), binary=True)
    rows = await cursor.fetchall()
    held = {record: list(group) for record, group in groupby(rows, key=itemgetter(0))}
    stale = await _stale(connection, records)
    return [_copy(record, held.get(record.id, ()), stale) for record in records]


async def run_restore(
    connection: AsyncConnection, copies: Sequence[RecordCopy], ensure: Sequence[RecordCopy]
) -> Restored:
    """Write records as they are given; the caller undoes all of it on an error.

    Raises:
        ConflictError: a file where a directory is, or a directory where a file is.

    """
    ledger = await Ledger.open(connection)
    new = await _bring_vectors(connection, copies)
    places: dict[str, list[Record]] = {}
    for copy in (*copies, *ensure):
        places.setdefault(copy.record.account, []).append(copy.record)
    rows = {account: TreeRows(connection, account, ledger) for account in places}
    for account, records in places.items():
        await rows[account].look((record.uri, record.level) for record in records)
    written = sum(_put(rows[copy.record.account], copy) for copy in copies)
    for copy in ensure:
        of = rows[copy.record.account]
        if of.at(copy.record.uri, copy.record.level) is None:
            written += _put(of, replace(copy, stale=True))
    for of in rows.values():
        await of.write()
        await of.write_stale()
    await note_arrivals(connection, ledger, new)
    for of in rows.values():
        of.loose.update(new)  # of a copy that another one at its place followed
        await of.drop_loose_vectors()
    return Restored(await ledger.settle(), written)


async def _next_records(
    connection: AsyncConnection,
    account: str | None,
    after: Record | None,
    limit: int,
    most: int,
) -> list[Record]:
    conditions, values = ["TRUE"], list[object]()
    if account is not None:
        conditions.append("account = %s")
        values.append(account)
    if after is not None:
        conditions.append("(account, uri, level) > (%s, %s, %s)")
        values += [after.account, after.uri.text, after.level.value]
    cursor = await connection.execute(
        f"SELECT (SELECT count(*) FROM passages WHERE record = records.id), {RECORD_COLUMNS}"  # noqa: S608 - fixed text, bound values
        f" FROM records WHERE {' AND '.join(conditions)} ORDER BY account, uri, level LIMIT %s",
        (*values, limit),
    )
    records: list[Record] = []
    total = 0
    for row in await cursor.fetchall():
        total += row[0]
        if records and total > most:
            break
        records.append(record_of(row[1:]))
    return records


async def _stale(
    connection: AsyncConnection, records: Sequence[Record]
) -> frozenset[tuple[str, str]]:
    """Return which of the directories among these are stale."""
    folders = [record for record in records if record.level is Level.ABSTRACT]
    cursor = await connection.execute(
        "SELECT account, uri FROM stale JOIN unnest(%s::text[], %s::text[]) AS told (holder, place)"
        " ON account = told.holder AND uri = told.place",
        ([folder.account for folder in folders], [folder.uri.text for folder in folders]),
    )
    return frozenset((row[0], row[1]) for row in await cursor.fetchall())


def _copy(record: Record, held: Sequence[Row], stale: frozenset[tuple[str, str]]) -> RecordCopy:
    return RecordCopy(
        record=record,
        passages=[passage_of(row[2:]) for row in held],
        vectors=[None if row[1] is None else np.frombuffer(row[1], dtype="<f4") for row in held],
        stale=record.level is Level.ABSTRACT and (record.account, record.uri.text) in stale,
    )


async def _bring_vectors(connection: AsyncConnection, copies: Sequence[RecordCopy]) -> list[str]:
    """Store the vectors that are not there yet, and return their digests."""
    given: dict[str, Vector] = {}
    for copy in copies:
        for passage, vector in zip(copy.passages, copy.vectors, strict=True):
            if vector is not None:
                given.setdefault(passage.digest, vector)
    if not given:
        return []
    cursor = await connection.execute(
        "INSERT INTO vectors (digest, vector) SELECT * FROM unnest(%s::text[], %b::bytea[])"
        " ON CONFLICT (digest) DO NOTHING RETURNING digest",
        (list(given), [np.asarray(vector, "<f4").tobytes() for vector in given.values()]),
    )
    return [row[0] for row in await cursor.fetchall()]


def _put(rows: TreeRows, copy: RecordCopy) -> bool:
    """Replace the record at the copy's place, or make it; return whether it is other than it was."""
    known = rows.at(copy.record.uri, copy.record.level)
    record = replace(
        copy.record,
        id=RecordId(0) if known is None else known.record.id,
        abstract=clean(copy.record.abstract),
        tags=clean_tags(copy.record.tags),
        origin=clean(copy.record.origin),
    )
    passages = clean_passages(copy.passages)
    changed = known is None or (known.record, known.passages) != (record, passages)
    if changed:
        rows.keep(record, passages)
    summarised = known is not None and known.record.abstract != record.abstract
    if copy.stale or (summarised and record.level is Level.ABSTRACT):
        rows.mark_stale(record.uri)
    return changed
