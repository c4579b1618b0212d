"""Search indexes in PostgreSQL for the tests."""

# ruff: noqa: S608 - names of our own tables

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.index import PostgresIndex
from contextfind.adapters.postgres.index_rules import IndexRules
from contextfind.adapters.postgres.index_schema import Tables
from contextfind.adapters.postgres.place import Place
from contextfind.ports.index import Hit
from tests.builders import DIMENSION
from tests.fakes import SimpleTokenizer

# Thresholds so low that every way is taken: a graph from the first vectors on, and hardly anything read whole or sorted.
MISERLY = IndexRules(scanned=1, sorted=3, counted=3, graph_from=3)
TABLES = Tables.named(DIMENSION, "tests")


async def open_index(database: Database, rules: IndexRules | None = None) -> PostgresIndex:
    """Return the index in a database."""
    return await PostgresIndex.open(database, DIMENSION, "tests", SimpleTokenizer(), rules)


@asynccontextmanager
async def postgres_indexes(
    place: Place, rules: IndexRules | None = None
) -> AsyncIterator[Callable[[], Awaitable[PostgresIndex]]]:
    """Give what empties the index of a schema and returns it: a schema for each takes fifty times as long."""
    database = await Database.open(place)

    async def make() -> PostgresIndex:
        index = await open_index(database, rules)
        await database.write(_empty)
        return index

    try:
        yield make
    finally:
        await database.aclose()


def same(got: Sequence[Hit], right: Sequence[Hit]) -> None:
    """Hold hits to others, but for the last bits of a cosine."""
    assert [replace(h, cosine=None, support=None, words=0, known=0, phrases=0) for h in got] == [
        replace(h, cosine=None, support=None, words=0, known=0, phrases=0) for h in right
    ]
    for name in ("cosine", "support", "words", "known", "phrases"):
        assert [getattr(h, name) for h in got] == [
            None if (value := getattr(h, name)) is None else pytest.approx(value, abs=1e-6)
            for h in right
        ]


async def _empty(connection: AsyncConnection) -> None:
    t = TABLES
    await connection.execute(f"DROP INDEX IF EXISTS {t.graph}".encode())
    for table in (t.entries, t.tags, t.passages, t.vectors, t.holders, t.counts, t.sizes):
        await connection.execute(f"DELETE FROM {table}".encode())
    nothing = "position = 0, records = 0, passages = 0, vectors = 0, drawn = FALSE"
    await connection.execute(f"UPDATE {t.state} SET {nothing}".encode())
