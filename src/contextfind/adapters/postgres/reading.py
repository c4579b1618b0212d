"""Questions about records and their passages, each answered in one state of the data."""

from collections.abc import Sequence

from psycopg import AsyncConnection

from contextfind.adapters.postgres.conditions import (
    Condition,
    at_or_below,
    below,
    compiled,
    conjunction,
    of_account,
    reach,
    shared_or_of,
    span,
    unowned_by_others,
    within,
)
from contextfind.adapters.postgres.rows import (
    PASSAGE_COLUMNS,
    RECORD_COLUMNS,
    RECORD_WIDTH,
    columns,
    passage_of,
    record_of,
)
from contextfind.adapters.postgres.texts import restored
from contextfind.domain.filters import Filter
from contextfind.domain.records import (
    ABSTRACT_NAME,
    OVERVIEW_NAME,
    Passage,
    Record,
    RecordId,
)
from contextfind.domain.scope import Scope
from contextfind.domain.uri import Uri
from contextfind.ports.store import Backlog, SourceMark

_RECORDS = f"SELECT {RECORD_COLUMNS} FROM records"  # noqa: S608 - fixed text
_SHOWN = (  # `domain.records.shown_address`
    f"uri || CASE level WHEN 0 THEN '/{ABSTRACT_NAME}' WHEN 1 THEN '/{OVERVIEW_NAME}' ELSE '' END"
)
_LISTED = Condition("level <> 1")  # files, and directories by their L0
_SEEN = "account = %(account)s AND owner IN ('', %(user)s)"
_KNOWN = (
    "SELECT n FROM unnest(%(numbers)s::integer[], %(places)s::text[], %(lows)s::text[], %(highs)s::text[])"  # noqa: S608 - fixed text
    " AS wanted (n, place, low, high)"
    f" WHERE EXISTS (SELECT 1 FROM records WHERE {_SEEN} AND uri = wanted.place)"
    f" OR EXISTS (SELECT 1 FROM records WHERE {_SEEN} AND uri >= wanted.low AND uri < wanted.high)"
)
_WANTED = "unnest(%s::bigint[], %s::integer[]) WITH ORDINALITY AS w (number, part, n)"
_PASSAGES = (
    f"SELECT w.n, {columns(PASSAGE_COLUMNS, 'p')} FROM {_WANTED}"  # noqa: S608 - fixed text
    " JOIN passages p ON p.record = w.number AND p.ordinal = w.part"
)
_FOUND = (
    f"SELECT w.n, {columns(RECORD_COLUMNS, 'r')}, {columns(PASSAGE_COLUMNS, 'p')} FROM {_WANTED}"  # noqa: S608 - fixed text
    " JOIN records r ON r.id = w.number LEFT JOIN passages p ON p.record = w.number AND p.ordinal = w.part"
)


async def read_records(connection: AsyncConnection, ids: Sequence[RecordId]) -> list[Record | None]:
    """Return records by id, None where there is none."""
    cursor = await connection.execute(f"{_RECORDS} WHERE id = ANY(%s::bigint[])", (list(ids),))
    known = {row[0]: record_of(row) for row in await cursor.fetchall()}
    return [known.get(record) for record in ids]


async def read_at(connection: AsyncConnection, scope: Scope, uri: Uri) -> list[Record]:
    """Return the records at an address, lowest level first."""
    cursor = await connection.execute(
        f"{_RECORDS} WHERE account = %s AND uri = %s ORDER BY level", (scope.account, uri.text)
    )
    return [record for record in map(record_of, await cursor.fetchall()) if scope.allows(record)]


async def read_children(
    connection: AsyncConnection,
    scope: Scope,
    directory: Uri,
    limit: int | None = None,
    offset: int = 0,
) -> list[Record]:
    """Return what a directory lists, by name."""
    where = conjunction([Condition("parent = %s", (directory.text,)), within(scope), _LISTED])
    cursor = await connection.execute(
        f"{_RECORDS} WHERE {where.sql} ORDER BY name LIMIT %s OFFSET %s",
        (*where.values, limit, offset),
    )
    return list(map(record_of, await cursor.fetchall()))


async def read_below(
    connection: AsyncConnection,
    scope: Scope,
    directory: Uri,
    limit: int,
    depth: int | None = None,
    after: Uri | None = None,
) -> list[Record]:
    """Return files and directories, by address."""
    slashes = "length(uri) - length(replace(uri, '/', ''))"  # of viking://a: two, of a/b three
    deepest = len(directory.segments) + 1 + (depth or 0)
    near = [] if depth is None else [Condition(f"{slashes} <= %s", (deepest,))]
    behind = [] if after is None else [Condition("uri > %s", (after.text,))]
    found: list[Record] = []
    for top in reach(scope, directory):
        area = below(top, after) if top == directory else at_or_below(top)
        seen = [of_account(scope.account), area, shared_or_of(scope.user), _LISTED]
        where = conjunction([*seen, *near, *behind])
        cursor = await connection.execute(
            f"{_RECORDS} WHERE {where.sql} ORDER BY uri LIMIT %s", (*where.values, limit)
        )
        found += map(record_of, await cursor.fetchall())
    return sorted(found, key=lambda record: record.uri)[:limit]


async def read_matching(
    connection: AsyncConnection, scope: Scope, where: Filter, limit: int
) -> list[Record]:
    """Return matching records, newest first, ties by address as it is shown."""
    condition = conjunction([within(scope), compiled(where, scope.account)])
    cursor = await connection.execute(
        f"{_RECORDS} WHERE {condition.sql} ORDER BY updated_at DESC, {_SHOWN} LIMIT %s",
        (*condition.values, limit),
    )
    return list(map(record_of, await cursor.fetchall()))


async def read_matching_ids(
    connection: AsyncConnection, scope: Scope, where: Filter
) -> list[RecordId]:
    """Return the ids of all matching records, ascending."""
    condition = conjunction([within(scope), compiled(where, scope.account)])
    cursor = await connection.execute(
        f"SELECT id FROM records WHERE {condition.sql} ORDER BY id",  # noqa: S608 - fixed text, bound values
        condition.values,
    )
    return [RecordId(row[0]) for row in await cursor.fetchall()]


async def read_known(connection: AsyncConnection, scope: Scope, uris: Sequence[Uri]) -> list[bool]:
    """Say for each address whether anything is stored at or below it."""
    pairs = [(n, top) for n, uri in enumerate(uris) for top in reach(scope, uri)]
    spans = [span(top) for _, top in pairs]
    cursor = await connection.execute(
        _KNOWN,
        {
            "account": scope.account,
            "user": scope.user,
            "numbers": [n for n, _ in pairs],
            "places": [top.text for _, top in pairs],
            "lows": [low for low, _ in spans],
            "highs": [high for _, high in spans],
        },
    )
    there = {row[0] for row in await cursor.fetchall()}
    return [n in there for n in range(len(uris))]


async def read_sources(
    connection: AsyncConnection, account: str, under: Uri
) -> dict[Uri, SourceMark]:
    """Return where every file at or below an address came from."""
    where = conjunction([of_account(account), at_or_below(under), Condition("level = 2")])
    cursor = await connection.execute(
        f"SELECT uri, source, origin FROM records WHERE {where.sql} ORDER BY uri",  # noqa: S608 - fixed text, bound values
        where.values,
    )
    rows = await cursor.fetchall()
    return {Uri(row[0]): SourceMark(row[1], restored(row[2])) for row in rows}


async def read_passages(
    connection: AsyncConnection, wanted: Sequence[tuple[RecordId, int]]
) -> list[Passage | None]:
    """Return passages by record and ordinal, None where there is none."""
    cursor = await connection.execute(_PASSAGES, _places(wanted), binary=True)
    known = {row[0]: passage_of(row[1:]) for row in await cursor.fetchall()}
    return [known.get(n) for n in range(1, len(wanted) + 1)]


async def read_found(
    connection: AsyncConnection, wanted: Sequence[tuple[RecordId, int]]
) -> list[tuple[Record, Passage | None] | None]:
    """Return records with one passage each, None where there is none; one statement."""
    cursor = await connection.execute(_FOUND, _places(wanted), binary=True)
    known: dict[int, tuple[Record, Passage | None]] = {}
    for row in await cursor.fetchall():
        told = row[RECORD_WIDTH + 1 :]
        passage = None if told[0] is None else passage_of(told)
        known[row[0]] = (record_of(row[1 : RECORD_WIDTH + 1]), passage)
    return [known.get(n) for n in range(1, len(wanted) + 1)]


async def read_backlog(
    connection: AsyncConnection, account: str | None, under: Uri | None, user: str | None
) -> Backlog:
    """Count texts to embed and directories to summarise."""
    parts = [] if account is None else [of_account(account)]
    parts += [] if under is None else [at_or_below(under)]
    held = conjunction(parts if user is None else [*parts, shared_or_of(user)])
    whole = held == conjunction([])
    those = "" if whole else f" AND record IN (SELECT id FROM records WHERE {held.sql})"  # noqa: S608 - fixed text, bound values
    stale = conjunction(parts if user is None else [*parts, unowned_by_others(user)])
    cursor = await connection.execute(
        f"SELECT (SELECT count(*) FROM (SELECT DISTINCT digest FROM passages WHERE pending{those}) AS texts),"  # noqa: S608 - fixed text, bound values
        f" (SELECT count(*) FROM stale WHERE {stale.sql}), (SELECT position FROM head)",
        (*held.values, *stale.values),
    )
    row = await cursor.fetchone()
    return Backlog(*(row or (0, 0, 0)))


async def read_counts(
    connection: AsyncConnection, account: str | None, user: str | None
) -> dict[str, int]:
    """Return how many there are of each kind."""
    parts = [] if account is None else [of_account(account)]
    parts += [] if user is None else [shared_or_of(user)]
    where = conjunction(parts)
    counted = (
        "(SELECT count(*) FROM passages), (SELECT count(*) FROM vectors)"
        if not parts
        else "(SELECT count(*) FROM passages JOIN seen ON seen.id = record),"
        " (SELECT count(*) FROM (SELECT DISTINCT digest FROM passages"
        " JOIN seen ON seen.id = record WHERE NOT pending) AS texts)"
    )
    cursor = await connection.execute(
        f"WITH seen AS (SELECT id, account, level FROM records WHERE {where.sql})"  # noqa: S608 - fixed text, bound values
        " SELECT count(DISTINCT account), count(*), count(*) FILTER (WHERE level = 2),"
        f" count(*) FILTER (WHERE level = 0), {counted} FROM seen",
        where.values,
    )
    names = ("accounts", "records", "files", "directories", "passages", "vectors")
    return dict(zip(names, await cursor.fetchone() or (0,) * len(names), strict=True))


def _places(wanted: Sequence[tuple[RecordId, int]]) -> tuple[list[int], list[int]]:
    return [record for record, _ in wanted], [ordinal for _, ordinal in wanted]
