"""What stands for a data directory when the suite runs on a database; imports nothing of ours unless it does.

CONTEXTFIND_TEST_BACKEND=postgres has the whole suite run on PostgreSQL (`make test-postgres`).
"""

import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import pytest

BACKEND = os.environ.get("CONTEXTFIND_TEST_BACKEND", "sqlite")
ON_POSTGRES = BACKEND == "postgres"
CONNECTIONS = 4
if ON_POSTGRES:
    from tests import databases

_made: set[str] = set()

directory_only = pytest.mark.skipif(
    ON_POSTGRES, reason="about the files of a data directory, which a database has none of"
)


def storage_environment(directory: Path | str) -> dict[str, str]:
    """Return what tells a process where the data is; a data directory is named on its command line."""
    if not ON_POSTGRES:
        return {}
    return {
        "CONTEXTFIND_STORAGE__BACKEND": BACKEND,
        "CONTEXTFIND_STORAGE__DSN": databases.server(),
        "CONTEXTFIND_STORAGE__DB_SCHEMA": schema_of(directory),
        "CONTEXTFIND_STORAGE__CONNECTIONS": str(CONNECTIONS),
    }


def environment_of(words: Sequence[str]) -> dict[str, str]:
    """Return what tells a command where the data is that its --data names."""
    return storage_environment(words[words.index("--data") + 1]) if "--data" in words else {}


def schema_of(directory: Path | str) -> str:
    """Return the schema that stands for a directory."""
    path = str(Path(directory).absolute()).encode()
    name = f"t_{blake2b(path, digest_size=8).hexdigest()}"
    _made.add(name)
    return name


def forget_all() -> None:
    """Take away every schema that this process has named."""
    for name in sorted(_made):
        databases.drop(name)
    _made.clear()
