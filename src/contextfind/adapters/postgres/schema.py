"""The tables, as numbered migrations; `schema_version` says how many were applied.

Every table with an `account` has row-level security as a second lock: a statement sees the rows of the account that the
setting `contextfind.account` names, all of them where it is `*`, and none where nobody has said. It holds for every role
but superusers and those with BYPASSRLS, which is what `contextfind doctor` warns of.
"""

import zlib
from collections.abc import Sequence

from psycopg import AsyncConnection

from contextfind.adapters.postgres.pgvector import located
from contextfind.adapters.postgres.place import Place
from contextfind.domain.errors import ConfigError, FailedPreconditionError
from contextfind.ports.fault_points import FaultPoint, reached

_SEEN = "current_setting('contextfind.account', true)"
_LOCKS = 0x0C0F1D  # the class of our advisory locks: other programs may use the same database


def lock_number(schema: str, name: str) -> int:
    """Return the number of an advisory lock of a schema, 64 bits."""
    return _LOCKS << 32 | zlib.crc32(f"{schema}/{name}".encode())


def guarded(table: str, seen: str = f"(account = {_SEEN} OR {_SEEN} = '*')") -> tuple[str, ...]:
    """Return the statements that put the second lock on a table."""
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",  # for the owner too, and that is who we are
        f"CREATE POLICY of_the_account ON {table} USING ({seen}) WITH CHECK ({seen})",
    )


_HOUSE = f"({_SEEN} = '*')"  # for what belongs to no account

# Texts compare by code point, as they do in Python. Times are microseconds since 1970 in UTC.
_RECORDS = (
    'CREATE TABLE meta (key text COLLATE "C" PRIMARY KEY, value text NOT NULL)',
    # One row: the last position of the log, id of a record and mark of a directory (`ledger`).
    "CREATE TABLE head (position bigint NOT NULL, record bigint NOT NULL, mark bigint NOT NULL)",
    "INSERT INTO head VALUES (0, 0, 0)",
    """CREATE TABLE records (
        id bigint PRIMARY KEY,
        account text COLLATE "C" NOT NULL,
        owner text COLLATE "C" NOT NULL,
        uri text COLLATE "C" NOT NULL,
        parent text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        level smallint NOT NULL,
        context_type text COLLATE "C" NOT NULL,
        abstract text COLLATE "C" NOT NULL,
        tags text[] COLLATE "C" NOT NULL,
        created_at bigint NOT NULL,
        updated_at bigint NOT NULL,
        content text COLLATE "C" NOT NULL,
        source text COLLATE "C" NOT NULL,
        origin text COLLATE "C" NOT NULL DEFAULT '',
        size bigint NOT NULL,
        active_count bigint NOT NULL DEFAULT 0,
        UNIQUE (account, uri, level)
    )""",
    "CREATE INDEX records_by_parent ON records (account, parent, name)",
    "CREATE INDEX records_by_age ON records (account, updated_at DESC, uri, level)",
    "CREATE INDEX records_used ON records (account, active_count) WHERE active_count > 0",
    "CREATE INDEX records_by_content ON records (content)",
    *guarded("records"),
    # The tags of `records.tags` once more, to be found by: behind row-level security an index on the array is of no use.
    """CREATE TABLE tags (
        account text COLLATE "C" NOT NULL,
        tag text COLLATE "C" NOT NULL,
        record bigint NOT NULL REFERENCES records (id) ON DELETE CASCADE,
        PRIMARY KEY (account, tag, record)
    )""",
    "CREATE INDEX tags_by_record ON tags (record)",
    *guarded("tags"),
    # pending: no vector yet. later: belongs to a directory; those are embedded after the files.
    """CREATE TABLE passages (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        account text COLLATE "C" NOT NULL,
        record bigint NOT NULL REFERENCES records (id) ON DELETE CASCADE,
        ordinal integer NOT NULL,
        heading text NOT NULL,
        text text NOT NULL,
        context text NOT NULL,
        digest text COLLATE "C" NOT NULL,
        pending boolean NOT NULL,
        later boolean NOT NULL,
        UNIQUE (record, ordinal)
    )""",
    "CREATE INDEX passages_by_digest ON passages (digest)",
    "CREATE INDEX passages_pending ON passages (later, id, digest) WHERE pending",
    *guarded("passages"),
    # float32, little endian. Apart from records: who is moved takes no vector along.
    'CREATE TABLE vectors (digest text COLLATE "C" PRIMARY KEY, vector bytea NOT NULL)',
    "ALTER TABLE vectors ALTER COLUMN vector SET STORAGE EXTERNAL",  # numbers do not shrink
    *guarded("vectors", _HOUSE),
    # Only the last entry of a record is kept; `record` may be gone from `records`.
    "CREATE TABLE log (position bigint PRIMARY KEY, record bigint NOT NULL UNIQUE)",
    *guarded("log", _HOUSE),
    """CREATE TABLE stale (
        mark bigint PRIMARY KEY,
        account text COLLATE "C" NOT NULL,
        uri text COLLATE "C" NOT NULL,
        depth integer NOT NULL,
        UNIQUE (account, uri)
    )""",
    "CREATE INDEX stale_by_depth ON stale (depth DESC, account, uri)",
    *guarded("stale"),
)

# A process takes a number and holds the advisory lock of it for as long as it lives (`presence`): what it has claimed
# is free again at the moment it is gone. These tables hold nothing that a crash may not lose.
_CLAIMS = (
    "CREATE SEQUENCE workers AS integer",
    'CREATE TABLE claims (what text COLLATE "C" PRIMARY KEY, worker integer NOT NULL)',
)

_JOBS = (
    """CREATE TABLE jobs (
        id text COLLATE "C" PRIMARY KEY,
        account text COLLATE "C" NOT NULL,
        "user" text COLLATE "C" NOT NULL,
        role text NOT NULL,
        kind text COLLATE "C" NOT NULL,
        state text COLLATE "C" NOT NULL,
        created_at bigint NOT NULL,
        updated_at bigint NOT NULL,
        spec text NOT NULL,
        stage text NOT NULL,
        done bigint NOT NULL,
        total bigint NOT NULL,
        result text,
        error text,
        has_left boolean NOT NULL,
        worker integer NOT NULL,
        cancel boolean NOT NULL DEFAULT false,
        turn bigint GENERATED ALWAYS AS IDENTITY
    )""",
    'CREATE INDEX jobs_by_identity ON jobs (account, "user", created_at DESC, id DESC)',
    "CREATE INDEX jobs_by_state ON jobs (state, created_at)",
    *guarded("jobs"),
)

_IDENTITIES = (
    'CREATE TABLE accounts (id text COLLATE "C" PRIMARY KEY, created_at bigint NOT NULL)',
    "CREATE UNIQUE INDEX accounts_any_case ON accounts (lower(id))",
    """CREATE TABLE users (
        account text COLLATE "C" NOT NULL REFERENCES accounts (id),
        id text COLLATE "C" NOT NULL,
        role text NOT NULL,
        created_at bigint NOT NULL,
        removed_at bigint,
        PRIMARY KEY (account, id)
    )""",
    "CREATE UNIQUE INDEX users_any_case ON users (account, lower(id))",
    """CREATE TABLE keys (
        id text COLLATE "C" PRIMARY KEY,
        account text COLLATE "C" NOT NULL,
        "user" text COLLATE "C" NOT NULL,
        digest text COLLATE "C" NOT NULL UNIQUE,
        hint text NOT NULL,
        label text NOT NULL,
        created_at bigint NOT NULL,
        last_used_at bigint,
        FOREIGN KEY (account, "user") REFERENCES users (account, id)
    )""",
    'CREATE INDEX keys_by_user ON keys (account, "user")',
    *guarded("accounts", _HOUSE),
    *guarded("users", _HOUSE),
    *guarded("keys", _HOUSE),
)

_SESSIONS = (
    """CREATE TABLE sessions (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        account text COLLATE "C" NOT NULL,
        "user" text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        created_at bigint NOT NULL,
        updated_at bigint NOT NULL,
        message_count bigint NOT NULL DEFAULT 0,
        total_message_count bigint NOT NULL DEFAULT 0,
        pending_tokens bigint NOT NULL DEFAULT 0,
        commit_count bigint NOT NULL DEFAULT 0,
        memories_extracted bigint NOT NULL DEFAULT 0,
        last_message_at bigint,
        last_commit_at bigint,
        settings text NOT NULL,
        UNIQUE (account, "user", id)
    )""",
    'CREATE INDEX sessions_by_change ON sessions (account, "user", updated_at DESC, id)',
    *guarded("sessions"),
    """CREATE TABLE messages (
        account text COLLATE "C" NOT NULL,
        session bigint NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
        ordinal bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        role text NOT NULL,
        created_at bigint NOT NULL,
        tokens bigint NOT NULL,
        text text NOT NULL,
        parts text NOT NULL,
        extra text NOT NULL,
        PRIMARY KEY (session, ordinal),
        UNIQUE (session, id)
    )""",
    *guarded("messages"),
    # Its messages are those from `first` to `last`, ordinals, both inside.
    """CREATE TABLE archives (
        account text COLLATE "C" NOT NULL,
        session bigint NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
        number bigint NOT NULL,
        first bigint NOT NULL,
        last bigint NOT NULL,
        message_count bigint NOT NULL,
        tokens bigint NOT NULL,
        created_at bigint NOT NULL,
        state text NOT NULL,
        abstract text NOT NULL,
        overview text NOT NULL,
        error text NOT NULL,
        PRIMARY KEY (session, number)
    )""",
    *guarded("archives"),
)

_BLOBS = (
    """CREATE TABLE blobs (
        digest text COLLATE "C" PRIMARY KEY,
        bytes bytea NOT NULL,
        packed boolean NOT NULL,
        put_at timestamptz NOT NULL
    )""",
    "ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL",  # packed already, where it pays
    # Of most files the bytes are the text: those are found by `content`.
    "CREATE INDEX records_by_source ON records (source) WHERE source <> content",
    *guarded("blobs", _HOUSE),
)

# Where the log stood and when, every hour of the last week: see `compaction`.
_MARKS = ("CREATE TABLE log_marks (at timestamptz PRIMARY KEY, position bigint NOT NULL)",)

_UPLOADS = (
    """CREATE TABLE uploads (
        id text COLLATE "C" PRIMARY KEY,
        account text COLLATE "C" NOT NULL,
        "user" text COLLATE "C" NOT NULL,
        name text NOT NULL,
        created_at bigint NOT NULL,
        pieces integer NOT NULL
    )""",
    *guarded("uploads"),
    """CREATE TABLE pieces (
        account text COLLATE "C" NOT NULL,
        upload text COLLATE "C" NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
        number integer NOT NULL,
        bytes bytea NOT NULL,
        PRIMARY KEY (upload, number)
    )""",
    "ALTER TABLE pieces ALTER COLUMN bytes SET STORAGE EXTERNAL",  # most uploads are packed
    *guarded("pieces"),
)

# How often a process ended while it was at a job: one that its processes die of has to end some time.
_BEGINNINGS = ("ALTER TABLE jobs ADD COLUMN begun integer NOT NULL DEFAULT 0",)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (*_RECORDS, *_CLAIMS, *_JOBS, *_IDENTITIES, *_SESSIONS, *_BLOBS, *_UPLOADS, *_MARKS),
    _BEGINNINGS,
)

# Both are there, or neither is whole: the first migration makes them with all others.
_MADE = """
    SELECT n.nspname FROM pg_namespace n WHERE has_schema_privilege(n.oid, 'USAGE')
        AND 2 = (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind = 'r'
            AND c.relname IN ('schema_version', 'head'))
    ORDER BY 1
"""
_NAMED = 5  # schemas in a message


async def require_tables(connection: AsyncConnection, place: Place) -> None:
    """Refuse a schema without our tables: a mistyped name must not look like a deployment in which nothing is.

    Raises:
        ConfigError: they are not there; it names schemas of this database where they are.

    """
    cursor = await connection.execute(_MADE)
    made = [str(row[0]) for row in await cursor.fetchall()]
    if place.schema in made:
        return
    others = ", ".join(made[:_NAMED]) + (", …" if len(made) > _NAMED else "")
    known = f"there is some in schema {others}" if made else "nor in another schema there"
    raise ConfigError(
        f"there is no data at {place.shown()}; {known}. storage.db_schema (CONTEXTFIND_STORAGE__DB_SCHEMA) names "
        "the one that is meant; contextfind serve and contextfind import make a new one"
    )


async def migrate(
    connection: AsyncConnection,
    schema: str,
    migrations: Sequence[Sequence[str]] = MIGRATIONS,
) -> str:
    """Bring the schema to the newest version, one transaction per step; one process does, the others wait for it.

    Returns the schema in which pgvector lies.

    Raises:
        FailedPreconditionError: the tables were made by a newer contextfind, or pgvector is not there.

    """
    number = lock_number(schema, "migration")
    await connection.execute("SET statement_timeout = 0")  # it grows with the data
    await connection.execute("SELECT pg_advisory_lock(%s)", (number,))
    try:
        lies_in = await located(connection)
        version = await _version(connection, schema)
        if version > len(migrations):
            raise FailedPreconditionError(
                f"the tables in schema {schema} have version {version}, this contextfind knows up to "
                f"{len(migrations)}; install the contextfind that made them, or name another storage.db_schema",
                {"version": version, "known": len(migrations)},
            )
        for applied, statements in enumerate(migrations[version:], start=version + 1):
            async with connection.transaction():
                for statement in statements:
                    await connection.execute(statement)
                    reached(FaultPoint.MID_MIGRATION)
                await connection.execute("UPDATE schema_version SET version = %s", (applied,))
        return lies_in
    finally:
        await connection.execute("SELECT pg_advisory_unlock(%s)", (number,))


async def _version(connection: AsyncConnection, schema: str) -> int:
    """Return how many migrations were applied; makes what that is written in."""
    async with connection.transaction():
        known = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
        if await (await connection.execute(known, (schema,))).fetchone() is None:
            # Not `IF NOT EXISTS` alone: it takes the right to make schemas also where this one was made for us.
            await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)"
        )
        await connection.execute(
            "INSERT INTO schema_version SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM schema_version)"
        )
        cursor = await connection.execute("SELECT version FROM schema_version")
        row = await cursor.fetchone()
    return 0 if row is None else int(row[0])
