"""The tables, as numbered migrations; `PRAGMA user_version` says how many were applied."""

import sqlite3

from contextfind.domain.errors import FailedPreconditionError
from contextfind.ports.fault_points import FaultPoint, reached

_FIRST = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # Times are integer microseconds since 1970 in UTC: exact, sortable, nothing to parse.
    """CREATE TABLE records (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        account TEXT NOT NULL,
        owner TEXT NOT NULL,
        uri TEXT NOT NULL,
        parent TEXT NOT NULL,
        name TEXT NOT NULL,
        level INTEGER NOT NULL,
        context_type TEXT NOT NULL,
        abstract TEXT NOT NULL,
        tags TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        content TEXT NOT NULL,
        source TEXT NOT NULL,
        size INTEGER NOT NULL,
        active_count INTEGER NOT NULL DEFAULT 0,
        UNIQUE (account, uri, level)
    )""",
    "CREATE INDEX records_by_parent ON records (account, parent, name)",
    "CREATE INDEX records_by_age ON records (account, updated_at DESC, uri, level)",
    # The tags of `records.tags` once more, to be found by.
    """CREATE TABLE tags (
        tag TEXT NOT NULL,
        record INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
        PRIMARY KEY (tag, record)
    ) WITHOUT ROWID""",
    "CREATE INDEX tags_by_record ON tags (record)",
    # pending: no vector yet. later: belongs to a directory; those are embedded after the files.
    """CREATE TABLE passages (
        id INTEGER PRIMARY KEY,
        record INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE,
        ordinal INTEGER NOT NULL,
        heading TEXT NOT NULL,
        text TEXT NOT NULL,
        context TEXT NOT NULL,
        digest TEXT NOT NULL,
        pending INTEGER NOT NULL,
        later INTEGER NOT NULL,
        UNIQUE (record, ordinal)
    )""",
    "CREATE INDEX passages_by_digest ON passages (digest)",
    "CREATE INDEX passages_pending ON passages (later, id, digest) WHERE pending = 1",
    # float32, little endian
    "CREATE TABLE vectors (digest TEXT PRIMARY KEY, vector BLOB NOT NULL)",
    # Only the last entry of a record is kept; `record` may be gone from `records`.
    """CREATE TABLE log (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        record INTEGER NOT NULL UNIQUE
    )""",
    """CREATE TABLE stale (
        mark INTEGER PRIMARY KEY AUTOINCREMENT,
        account TEXT NOT NULL,
        uri TEXT NOT NULL,
        depth INTEGER NOT NULL,
        UNIQUE (account, uri)
    )""",
    "CREATE INDEX stale_by_depth ON stale (depth DESC, account, uri)",
    """CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        user TEXT NOT NULL,
        role TEXT NOT NULL,
        kind TEXT NOT NULL,
        state TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        spec TEXT NOT NULL,
        stage TEXT NOT NULL,
        done INTEGER NOT NULL,
        total INTEGER NOT NULL,
        result TEXT,
        error TEXT
    ) WITHOUT ROWID""",
    "CREATE INDEX jobs_by_identity ON jobs (account, user, created_at DESC, id DESC)",
    "CREATE INDEX jobs_by_state ON jobs (state, created_at)",
    "CREATE TABLE accounts (id TEXT PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE users (
        account TEXT NOT NULL REFERENCES accounts (id),
        id TEXT NOT NULL,
        role TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        PRIMARY KEY (account, id)
    ) WITHOUT ROWID""",
    """CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        user TEXT NOT NULL,
        role TEXT NOT NULL,
        digest TEXT NOT NULL UNIQUE,
        hint TEXT NOT NULL,
        label TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER,
        FOREIGN KEY (account, user) REFERENCES users (account, id)
    ) WITHOUT ROWID""",
)

# A removed user keeps its name, so that nobody inherits its tree by taking it; a key has no role
# of its own, so that a change of its user's cannot be forgotten.
_REMOVED_USERS = (
    "ALTER TABLE users ADD COLUMN removed_at INTEGER",
    "ALTER TABLE keys DROP COLUMN role",
    "CREATE INDEX keys_by_user ON keys (account, user)",
)

_USED_RECORDS = (  # most records were never used; see `conditions` for the clause that finds it
    "CREATE INDEX records_used ON records (account, active_count) WHERE active_count > 0",
)

# Which ingest of a tree brought a file: adding the tree again removes only what it brought itself.
_ORIGINS = ("ALTER TABLE records ADD COLUMN origin TEXT NOT NULL DEFAULT ''",)

# No reference to `users`: who may ask is decided before, and a removed user keeps its name, so that
# its sessions wait for it alone. The counts are of the rows below, kept by every write to them.
_SESSIONS = (
    """CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        account TEXT NOT NULL,
        user TEXT NOT NULL,
        id TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        message_count INTEGER NOT NULL DEFAULT 0,
        total_message_count INTEGER NOT NULL DEFAULT 0,
        pending_tokens INTEGER NOT NULL DEFAULT 0,
        commit_count INTEGER NOT NULL DEFAULT 0,
        memories_extracted INTEGER NOT NULL DEFAULT 0,
        last_message_at INTEGER,
        last_commit_at INTEGER,
        settings TEXT NOT NULL,
        UNIQUE (account, user, id)
    )""",
    "CREATE INDEX sessions_by_change ON sessions (account, user, updated_at DESC, id)",
    # `text` and what follows may be long: they stand last, so that adding up tokens skips them.
    """CREATE TABLE messages (
        key INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
        ordinal INTEGER NOT NULL,
        id TEXT NOT NULL,
        role TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        text TEXT NOT NULL,
        parts TEXT NOT NULL,
        extra TEXT NOT NULL,
        UNIQUE (session, ordinal),
        UNIQUE (session, id)
    )""",
    # Its messages are those from `first` to `last`, ordinals, both inside.
    """CREATE TABLE archives (
        session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        message_count INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        abstract TEXT NOT NULL,
        overview TEXT NOT NULL,
        error TEXT NOT NULL,
        UNIQUE (session, number)
    )""",
)

# How often a process ended while it was at a job: one that its processes die of has to end some time.
_BEGINNINGS = ("ALTER TABLE jobs ADD COLUMN begun INTEGER NOT NULL DEFAULT 0",)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _FIRST,
    _REMOVED_USERS,
    _USED_RECORDS,
    _ORIGINS,
    _SESSIONS,
    _BEGINNINGS,
)


def migrate(
    connection: sqlite3.Connection, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS
) -> None:
    """Bring the file to the newest version, one transaction per step.

    Raises:
        FailedPreconditionError: the file was written by a newer contextfind.

    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(migrations):
        raise FailedPreconditionError(
            f"contextfind.db has version {version}, this contextfind knows up to "
            f"{len(migrations)}; install the contextfind that wrote it, or point "
            "storage.path at another directory",
            {"version": version, "known": len(migrations)},
        )
    for number, statements in enumerate(migrations[version:], start=version + 1):
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements:
            connection.execute(statement)
            reached(FaultPoint.MID_MIGRATION)
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
