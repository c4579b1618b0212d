"""Where the data of a test's house lies: a data directory, or a schema of PostgreSQL in the place of one."""

from pathlib import Path

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
