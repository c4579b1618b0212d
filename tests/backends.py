"""Where the data of a test's house lies: a data directory, or a schema of PostgreSQL in the place of one."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import psycopg

from contextfind.adapters.postgres.database import EVERY_ACCOUNT
from contextfind.adapters.postgres.place import Place
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
    place = Place(storage_environment(directory)["CONTEXTFIND_STORAGE__DSN"], schema_of(directory))
    with psycopg.connect(place.conninfo(EVERY_ACCOUNT), autocommit=True) as connection:
        lost = connection.execute("DELETE FROM blobs WHERE digest = %s", (digest,))
        assert lost.rowcount == 1
