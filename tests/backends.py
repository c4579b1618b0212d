"""Where the data of a test's house lies: a data directory, or a schema of PostgreSQL in the place of one."""

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import psycopg

from contextfind.adapters.postgres.database import EVERY_ACCOUNT
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.config import load
from contextfind.config.layers import Given
from contextfind.config.model import Settings
from contextfind.config.storage import StorageSettings
from tests.schemas import CONNECTIONS, ON_POSTGRES, schema_of, storage_environment


def storage_in(directory: Path | str) -> StorageSettings:
    """Return the storage that belongs to a directory, always the same one."""
    if not ON_POSTGRES:
        return StorageSettings(path=str(directory))
    return StorageSettings(
        path=str(directory),
        backend="postgres",
        dsn=storage_environment(directory)["CONTEXTFIND_STORAGE__DSN"],
        db_schema=schema_of(directory),
        connections=CONNECTIONS,
    )


def let_schemas_stand_in() -> None:
    """Have every directory that this process is told to keep its data in stand for a schema.

    So commands and pipelines, which are told nothing but a directory, work on the database.
    """
    read = load._settings

    def settings(values: Mapping[tuple[str, str], Given]) -> Settings:
        path = values.get(("storage", "path"))
        if path is None or not isinstance(path.value, str) or ("storage", "backend") in values:
            return read(values)
        named = storage_in(path.value).model_dump(exclude_unset=True, exclude={"path"})
        given = {("storage", key): Given(value, "tests") for key, value in named.items()}
        return read({**values, **given})

    load._settings = settings


def lose_body(directory: Path, body: bytes) -> None:
    """Take away the bytes of a file that is stored."""
    digest = sha256(body).hexdigest()
    if not ON_POSTGRES:
        (directory / "blobs" / digest[:2] / digest[2:]).unlink()
        return
    with _connected(directory) as connection:
        lost = connection.execute("DELETE FROM blobs WHERE digest = %s", (digest,))
        assert lost.rowcount == 1


def lose_index(directory: Path) -> None:
    """Take away the search index of data that nobody has open."""
    if not ON_POSTGRES:
        shutil.rmtree(directory / "index")
        return
    with _connected(directory) as connection:
        tables = [name for name in _tables(connection) if name.startswith("index")]
        assert tables
        connection.execute(f"DROP TABLE {', '.join(tables)} CASCADE")


def age(directory: Path) -> None:
    """Have a database be older than the week for which its log keeps what is gone, and the day for which bodies stay."""
    if ON_POSTGRES:
        with _connected(directory) as connection:
            connection.execute(
                "INSERT INTO log_marks (at, position) SELECT now() - interval '30 days', position FROM head"
            )
            connection.execute("UPDATE blobs SET put_at = now() - interval '30 days'")


def files_stored(directory: Path) -> int:
    """Return how many files of the tree are committed, 0 where there is no data yet."""
    if not ON_POSTGRES:
        return _files_in(directory / FILE_NAME)
    with _connected(directory) as connection:
        if "records" not in _tables(connection):
            return 0
        row = connection.execute("SELECT count(*) FROM records WHERE level = 2").fetchone()
        return int(row[0]) if row else 0


def all_bytes(directory: Path) -> dict[str, bytes]:
    """Return all that is stored, by file or by table."""
    if not ON_POSTGRES:
        files = (path for path in directory.rglob("*") if path.is_file())
        return {str(file): file.read_bytes() for file in files}
    found: dict[str, bytes] = {}
    with _connected(directory) as connection:
        for name in _tables(connection):
            rows = connection.execute(f"SELECT * FROM {name}")  # noqa: S608 - a name of ours
            found[name] = b"\n".join(
                bytes(value) if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
                for row in rows
                for value in row
            )
    return found


def _connected(directory: Path) -> psycopg.Connection:
    """Connect to the schema of a directory, to see all of it."""
    place = Place(storage_environment(directory)["CONTEXTFIND_STORAGE__DSN"], schema_of(directory))
    return psycopg.connect(place.conninfo(EVERY_ACCOUNT), autocommit=True)


def _tables(connection: psycopg.Connection) -> list[str]:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    return [str(name) for (name,) in rows]


def _files_in(file: Path) -> int:
    if not file.exists():
        return 0
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        try:
            (count,) = connection.execute("SELECT count(*) FROM records WHERE level = 2").fetchone()
        except sqlite3.OperationalError:  # the tables are being made
            return 0
        return int(count)
