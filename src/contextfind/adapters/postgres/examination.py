"""One look at a database: its server, our role in it, our tables. Nothing is made or changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from psycopg import AsyncConnection
from psycopg.rows import class_row

from contextfind.adapters.postgres.connections import bounded
from contextfind.adapters.postgres.database import EVERY_ACCOUNT
from contextfind.adapters.postgres.faults import translated
from contextfind.adapters.postgres.index_schema import Tables
from contextfind.adapters.postgres.maker import FINGERPRINT
from contextfind.adapters.postgres.pgvector import LOCATED
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.postgres.presence import lock_class
from contextfind.adapters.postgres.schema import MIGRATIONS

T = TypeVar("T")

_SETTINGS = (
    *("server_version", "server_version_num", "server_encoding", "transaction_read_only"),
    *("fsync", "full_page_writes", "synchronous_commit", "shared_buffers", "idle_session_timeout"),
)
_ROLE = """
    SELECT rolname AS name, rolsuper AS rules_all, rolbypassrls AS sees_all,
        has_database_privilege(current_database(), 'CREATE') AS makes_schemas,
        coalesce(has_schema_privilege(to_regnamespace(%(schema)s), 'CREATE'), FALSE) AS makes_tables,
        ARRAY(SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace(%(schema)s)
            AND relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE') ORDER BY 1) AS foreign_tables
    FROM pg_roles WHERE rolname = current_user
"""
# may_add: the same that CREATE EXTENSION asks.
_PGVECTOR = f"""
    SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS there,
        (SELECT schema FROM ({LOCATED}) AS l) AS lies_in,
        coalesce((SELECT usable FROM ({LOCATED}) AS l), TRUE) AS usable,
        coalesce(bool_or(a.superuser IS FALSE OR r.rolsuper
            OR a.trusted AND has_database_privilege(current_database(), 'CREATE')), FALSE) AS may_add
    FROM pg_roles r LEFT JOIN pg_available_extension_versions a ON a.name = 'vector'
    WHERE r.rolname = current_user
"""  # noqa: S608 - fixed text
# living: `presence` says how processes are known. used: without this connection, and without what works behind.
_ROOM = """
    SELECT current_setting('max_connections')::integer AS most,
        current_setting('superuser_reserved_connections')::integer
            + coalesce(current_setting('reserved_connections', true), '0')::integer AS reserved,
        least(nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1)) AS bound,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
            AND pid <> pg_backend_pid())::integer AS used,
        (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
            AND classid = %s::bigint::oid AND database = d.oid)::integer AS living
    FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()
"""
_OPEN = """
    SELECT c.relname::text FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r'
        AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
        AND (c.relname = ANY(%s) OR EXISTS (SELECT 1 FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attname = 'account' AND NOT a.attisdropped))
    ORDER BY 1
"""
_INDEXES = """
    SELECT left(s.relname, -6)::text AS prefix, a.atttypmod AS dimension,
        (SELECT sum(pg_total_relation_size(t.oid))::bigint FROM pg_class t WHERE t.relkind = 'r'
            AND t.relnamespace = s.relnamespace
            AND t.relname LIKE left(s.relname, -6) || '\\_%%') AS bytes
    FROM pg_class s JOIN pg_class v
        ON v.relnamespace = s.relnamespace AND v.relname = left(s.relname, -6) || '_vectors'
    JOIN pg_attribute a ON a.attrelid = v.oid AND a.attname = 'vector'
    WHERE s.relnamespace = to_regnamespace(%s) AND s.relname ~ '^index_[0-9a-f]{10}_state$'
    ORDER BY 1
"""
_FORCED = "FORCE ROW LEVEL SECURITY"
_GUARDED = [one.split()[2] for step in MIGRATIONS for one in step if one.endswith(_FORCED)]


@dataclass(frozen=True, slots=True)
class Role:
    """Who we are there, and what we may do.

    rules_all: a superuser. sees_all: row-level security does not hold for it. foreign_tables: of our schema, and not
    ours to change.
    """

    name: str
    rules_all: bool
    sees_all: bool
    makes_schemas: bool
    makes_tables: bool
    foreign_tables: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pgvector:
    """there: its version, None where it is not in the database. may_add: we may have it added.

    lies_in: the schema, None as above. usable: that one is open to us.
    """

    there: str | None
    may_add: bool
    lies_in: str | None
    usable: bool


@dataclass(frozen=True, slots=True)
class Room:
    """Connections.

    most: of the server. reserved: of these, for others than us. bound: of our role or database, None without. used:
    by anybody. living: processes of contextfind on our schema.
    """

    most: int
    reserved: int
    bound: int | None
    used: int
    living: int


@dataclass(frozen=True, slots=True)
class Standing:
    """An index. current: made by the embedder that the store knows, in the way this version does."""

    prefix: str
    current: bool
    position: int
    records: int
    vectors: int
    drawn: bool
    bytes: int


@dataclass(frozen=True, slots=True)
class Schema:
    """Our tables.

    version: of the migrations; known: the newest one that we know. unguarded: tables without row-level security that
    should have it. position: of the log. fingerprint: of the embedder, None before the first start.
    """

    version: int
    known: int
    unguarded: Sequence[str]
    position: int
    fingerprint: str | None
    indexes: Sequence[Standing]


@dataclass(frozen=True, slots=True)
class Examined:
    """What was seen. settings: of the server, as SHOW tells them. schema: None where our tables are not yet."""

    settings: Mapping[str, str]
    role: Role
    pgvector: Pgvector
    room: Room
    schema: Schema | None


async def examined(place: Place) -> Examined:
    """Look at a database; takes `place.seconds` for the connection and twice as long for the rest at most.

    Raises:
        UnavailableError: it does not answer, or not in time. FailedPreconditionError: it refuses us.

    """
    with translated():
        async with await AsyncConnection.connect(
            place.conninfo(EVERY_ACCOUNT), autocommit=True
        ) as connection:
            with bounded(connection, 2 * place.seconds):
                return await _looked_at(connection, place.schema)


async def _looked_at(connection: AsyncConnection, schema: str) -> Examined:
    cursor = await connection.execute(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s)",
        (list(_SETTINGS),),
    )
    return Examined(
        settings=dict(await cursor.fetchall()),
        role=await _one(connection, Role, _ROLE, {"schema": f'"{schema}"'}),
        pgvector=await _one(connection, Pgvector, _PGVECTOR, ()),
        room=await _one(connection, Room, _ROOM, (lock_class(schema),)),
        schema=await _schema(connection, schema),
    )


async def _schema(connection: AsyncConnection, schema: str) -> Schema | None:
    cursor = await connection.execute(
        "SELECT to_regclass(%s) IS NOT NULL", (f'"{schema}".schema_version',)
    )
    if await cursor.fetchone() != (True,):
        return None
    version = await _value(connection, "SELECT version FROM schema_version")
    known = len(MIGRATIONS)
    if version != known:  # the tables are not those that are asked for below
        return Schema(version, known, (), 0, None, ())
    cursor = await connection.execute(_OPEN, (f'"{schema}"', _GUARDED))
    unguarded = [str(row[0]) for row in await cursor.fetchall()]
    position = await _value(connection, "SELECT position FROM head")
    cursor = await connection.execute("SELECT value FROM meta WHERE key = %s", (FINGERPRINT,))
    row = await cursor.fetchone()
    fingerprint = None if row is None else str(row[0])
    indexes = await _indexes(connection, schema, fingerprint)
    return Schema(version, known, unguarded, position, fingerprint, indexes)


async def _indexes(
    connection: AsyncConnection, schema: str, fingerprint: str | None
) -> Sequence[Standing]:
    cursor = await connection.execute(_INDEXES, (f'"{schema}"',))
    found = []
    for prefix, dimension, size in await cursor.fetchall():
        tables = Tables.named(dimension, fingerprint or "")
        state = await connection.execute(
            f'SELECT position, records, vectors, drawn FROM "{prefix}_state"'.encode()  # noqa: S608 - a name of the catalogue
        )
        row = await state.fetchone()
        position, records, vectors, drawn = (0, 0, 0, False) if row is None else row
        found.append(
            Standing(prefix, prefix == tables.prefix, position, records, vectors, drawn, size)
        )
    return found


async def _one(
    connection: AsyncConnection,
    kind: type[T],
    statement: str,
    values: Mapping[str, object] | Sequence[object],
) -> T:
    async with connection.cursor(row_factory=class_row(kind)) as cursor:
        await cursor.execute(statement.encode(), values)
        row = await cursor.fetchone()
    assert row is not None  # noqa: S101 - each of these asks for one row
    return row


async def _value(connection: AsyncConnection, statement: str) -> int:
    row = await (await connection.execute(statement.encode())).fetchone()
    return 0 if row is None else int(row[0])
