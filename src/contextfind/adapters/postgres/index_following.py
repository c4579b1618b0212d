"""Having the tables show what the log says: one transaction for each batch of changes."""

# ruff: noqa: S608 - names of our own tables; every value is bound

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from psycopg import AsyncConnection

from contextfind.adapters.postgres.index_schema import Tables
from contextfind.adapters.postgres.index_values import Numbers
from contextfind.adapters.postgres.index_words import Shelf, number_of, numbers_of, signed
from contextfind.adapters.postgres.texts import storable
from contextfind.domain.records import Level, Record
from contextfind.domain.times import microseconds
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

Print = tuple[int, int]  # ordinal and print of a passage
_Passage = tuple[int, int, int, int, list[int], bytes]  # a row
_ADD = "ON CONFLICT (key) DO UPDATE SET passages = counts.passages + excluded.passages"


@dataclass(slots=True)
class Written:
    """The words of the passages of some changes, ready to be stored."""

    passages: list[_Passage] = field(default_factory=list)
    counts: Counter[int] = field(default_factory=Counter)
    sizes: dict[tuple[str, str], list[int]] = field(default_factory=dict)


def shelf_of(record: Record) -> Shelf:
    """Return the shelf on which the passages of a record stand."""
    return Shelf(record.account, record.owner, record.level is Level.DETAIL)


def prints(change: Change) -> list[Print]:
    """Return what tells whether the words of a change's passages are those that are stored."""
    if change.record is None:
        return []
    shelf = shelf_of(change.record)
    place = f"{shelf.account}\0{shelf.owner}\0{shelf.leaves:d}\0"
    return [(p.ordinal, signed(number_of(place + p.indexed_text))) for p in change.passages]


def written(changes: Sequence[Change], tokenizer: Tokenizer) -> Written:
    """Cut the passages of changes into words; it takes its time, and touches nothing."""
    found, known = Written(), dict[str, int]()
    for change in changes:
        if change.record is not None:
            shelf = shelf_of(change.record)
            for place, (passage, mark) in enumerate(
                zip(change.passages, prints(change), strict=True)
            ):
                stream = numbers_of(tokenizer.terms(passage.indexed_text), known)
                keys = shelf.keys(np.unique(stream)).tolist()
                found.passages.append((change.id, place, *mark, keys, stream.tobytes()))
                found.counts.update(keys)
                size = found.sizes.setdefault((shelf.account, shelf.owner), [0, 0])
                size[0] += 1
                size[1] += len(stream)
    return found


def vector_numbers(change: Change) -> list[int] | None:
    """Return the numbers of a change's vectors; None where it has none."""
    if change.record is None or change.vectors is None or not len(change.vectors):
        return None
    rows = np.ascontiguousarray(change.vectors, "<f4")
    return [signed(number_of(row.tobytes())) for row in rows]


class Following:
    """Writes changes into the tables, in the transaction that is open; nobody else may at the same time."""

    def __init__(self, connection: AsyncConnection, tables: Tables) -> None:
        self._connection = connection
        self._tables = tables
        self._more = {"records": 0, "passages": 0, "vectors": 0}

    async def reworded(self, changes: Sequence[Change]) -> list[Change]:
        """Return those whose words are not what is stored."""
        ids = [change.id for change in changes]
        t = self._tables
        rows = await self._rows(
            f"SELECT record, ordinal, print FROM {t.passages} WHERE record = ANY(%s)"
            " ORDER BY record, place",
            ids,
        )
        stored: dict[int, list[Print]] = {}
        for record, ordinal, mark in rows:
            stored.setdefault(record, []).append((ordinal, mark))
        found = [change for change in changes if prints(change) != stored.get(change.id, [])]
        self._more["passages"] -= sum(len(stored.get(change.id, [])) for change in found)
        return found

    async def moved(self, changes: Sequence[Change]) -> list[Change]:
        """Return those whose vectors are not what is stored."""
        ids = [change.id for change in changes]
        t = self._tables
        rows = await self._rows(f"SELECT id, vectors FROM {t.entries} WHERE id = ANY(%s)", ids)
        stored = dict(rows)
        return [change for change in changes if vector_numbers(change) != stored.get(change.id)]

    async def store_words(self, changes: Sequence[Change], words: Written) -> None:
        """Put the words of changes in the place of what is stored of their records."""
        t = self._tables
        ids = [change.id for change in changes]
        await self._do(
            f"UPDATE {t.sizes} AS sizes SET passages = sizes.passages - less.passages,"
            " length = sizes.length - less.length FROM ("
            "  SELECT account, owner, count(*) AS passages, sum(length(stream) / 8)::bigint AS length"
            f" FROM {t.passages} JOIN {t.entries} ON id = record WHERE record = ANY(%s) GROUP BY 1, 2"
            ") AS less WHERE sizes.account = less.account AND sizes.owner = less.owner",
            ids,
        )
        await self._do(
            f"WITH gone AS (DELETE FROM {t.passages} WHERE record = ANY(%s) RETURNING keys),"
            " less AS (SELECT key, count(*) AS passages FROM gone, unnest(keys) AS key GROUP BY key)"
            f" UPDATE {t.counts} AS counts SET passages = counts.passages - less.passages"
            " FROM less WHERE counts.key = less.key",
            ids,
        )
        copying = f"COPY {t.passages} (record, place, ordinal, print, keys, stream) FROM STDIN (FORMAT binary)"
        async with self._connection.cursor().copy(copying.encode()) as copy:
            copy.set_types(["int8", "int4", "int8", "int8", "int8[]", "bytea"])
            for row in words.passages:
                await copy.write_row(row)
        self._more["passages"] += len(words.passages)
        await self._do(
            f"INSERT INTO {t.counts} AS counts SELECT * FROM unnest(%s::bigint[], %s::bigint[]) {_ADD}",
            list(words.counts),
            list(words.counts.values()),
        )
        await self._each(
            f"INSERT INTO {t.sizes} AS sizes VALUES (%s, %s, %s, %s) ON CONFLICT (account, owner)"
            " DO UPDATE SET passages = sizes.passages + excluded.passages,"
            " length = sizes.length + excluded.length",
            [(*whose, *size) for whose, size in words.sizes.items()],
        )

    async def store_vectors(self, changes: Sequence[Change]) -> None:
        """Let records have the vectors of their changes; one that nobody has any more is gone."""
        t = self._tables
        held = {change.id: vector_numbers(change) or [] for change in changes}
        rows = {
            number: Numbers.of(row)
            for change in changes
            if change.vectors is not None and held[change.id]
            for number, row in zip(held[change.id], change.vectors, strict=True)
        }
        there = await self._rows(
            f"SELECT number FROM {t.vectors} WHERE number = ANY(%s)", list(rows)
        )
        known = {number for (number,) in there}
        fresh = [(number, row) for number, row in rows.items() if number not in known]
        await self._each(f"INSERT INTO {t.vectors} VALUES (%s, %s::vector)", fresh)
        left = await self._rows(
            f"DELETE FROM {t.holders} WHERE record = ANY(%s) RETURNING number", list(held)
        )
        pairs = [(number, record) for record, some in held.items() for number in set(some)]
        await self._do(
            f"INSERT INTO {t.holders} SELECT * FROM unnest(%s::bigint[], %s::bigint[])",
            [number for number, _ in pairs],
            [record for _, record in pairs],
        )
        gone = await self._do(
            f"DELETE FROM {t.vectors} AS v WHERE number = ANY(%s) AND NOT EXISTS"
            f" (SELECT 1 FROM {t.holders} AS h WHERE h.number = v.number)",
            [number for (number,) in left if number not in rows],
        )
        self._more["vectors"] += len(fresh) - gone

    async def store_entries(self, changes: Sequence[Change]) -> None:
        """Say of each record where it lies now and what it is; of one that is gone nothing."""
        t = self._tables
        ids = [change.id for change in changes]
        gone = await self._do(f"DELETE FROM {t.entries} WHERE id = ANY(%s)", ids)
        rows = list(_entries(changes))
        self._more["records"] += len(rows) - gone
        await self._do(f"DELETE FROM {t.tags} WHERE record = ANY(%s)", ids)
        await self._each(
            f"INSERT INTO {t.entries} VALUES"
            " (%s, %s, %s, %s, %s, %s, %s, %s, %s::text[], %s, %s, %s, %s::bigint[])",
            rows,
        )
        await self._each(
            f"INSERT INTO {t.tags} VALUES (%s, %s, %s)",
            [
                (change.record.account, storable(tag), change.id)
                for change in changes
                if change.record is not None
                for tag in sorted(set(change.record.tags))
            ],
        )

    async def advance(self, position: int) -> None:
        """Say how far the log was followed, and count what there is."""
        more = ", ".join(f"{name} = {name} + %s" for name in self._more)
        sql = f"UPDATE {self._tables.state} SET position = %s, {more}"
        await self._do(sql, position, *self._more.values())

    async def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = await self._connection.execute(sql.encode(), values)
        return await cursor.fetchall()

    async def _do(self, sql: str, *values: object) -> int:
        cursor = await self._connection.execute(sql.encode(), values)
        return cursor.rowcount

    async def _each(self, sql: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            async with self._connection.cursor() as cursor:
                await cursor.executemany(sql.encode(), rows)


def _entries(changes: Sequence[Change]) -> Iterator[tuple[object, ...]]:
    for change in changes:
        if (record := change.record) is not None:
            yield (
                record.id,
                record.account,
                record.owner,
                record.uri.text,
                "" if record.parent is None else record.parent.text,
                record.name,
                record.level.value,
                record.context_type.value,
                [storable(tag) for tag in record.tags],
                microseconds(record.created_at),
                microseconds(record.updated_at),
                len(change.passages),
                vector_numbers(change),
            )
