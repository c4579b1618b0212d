"""Domain values to rows and back.

Many rows go to the database as one JSON text, which `json_to_recordset` makes a table of: COPY is not to be had where
row-level security is, and a statement for each row would be a round trip for each.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from contextfind.adapters.postgres.texts import clean, restored, storable
from contextfind.domain.errors import DamagedError
from contextfind.domain.records import KINDS, LEVELS, Passage, Record, RecordId
from contextfind.domain.times import microseconds, moment_of
from contextfind.domain.uri import Uri

RECORD_COLUMNS = (
    "id, account, owner, uri, level, context_type, abstract, tags, created_at, updated_at,"
    " content, source, size, active_count, origin"
)
PASSAGE_COLUMNS = "ordinal, heading, text, context, digest"
_AT_ONCE = 5_000  # rows of a statement, some 100 ms
RECORD_WIDTH = len(RECORD_COLUMNS.split(","))

T = TypeVar("T")
Row = tuple[Any, ...]  # as the driver hands it over; the columns are named where it is read


def slices(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut values into what one statement takes: so it ends within the time of a statement, however many there are."""
    for begin in range(0, len(values), _AT_ONCE):
        yield values[begin : begin + _AT_ONCE]


def columns(names: str, table: str) -> str:
    """Return the names of columns with that of their table."""
    return ", ".join(f"{table}.{name.strip()}" for name in names.split(","))


def record_of(row: Row) -> Record:
    """Return the record of a row in the order of RECORD_COLUMNS.

    Raises:
        DamagedError: no record was ever written like this.

    """
    try:
        return Record(
            id=RecordId(row[0]),
            account=row[1],
            owner=row[2],
            uri=Uri(row[3]),
            level=LEVELS[row[4]],
            context_type=KINDS[row[5]],
            abstract=restored(row[6]),
            tags=tuple(map(restored, row[7])),
            created_at=moment_of(row[8]),
            updated_at=moment_of(row[9]),
            content=row[10],
            source=row[11],
            size=row[12],
            active_count=row[13],
            origin=restored(row[14]),
        )
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise DamagedError(
            f"the row of record {row[0]} is damaged; put the database back from a backup"
        ) from error


def passage_of(row: Row) -> Passage:
    """Return the passage of a row in the order of PASSAGE_COLUMNS."""
    return Passage(row[0], restored(row[1]), restored(row[2]), restored(row[3]), row[4])


def record_fields(record: Record) -> dict[str, object]:
    """Return the values of a record's row by column."""
    parent = record.parent
    return {
        "id": record.id,
        "account": record.account,
        "owner": record.owner,
        "uri": record.uri.text,
        "parent": "" if parent is None else parent.text,
        "name": record.name,
        "level": record.level.value,
        "context_type": record.context_type.value,
        "abstract": storable(record.abstract),
        "tags": [storable(tag) for tag in record.tags],
        "created_at": microseconds(record.created_at),
        "updated_at": microseconds(record.updated_at),
        "content": record.content,
        "source": record.source,
        "size": record.size,
        "active_count": record.active_count,
        "origin": storable(record.origin),
    }


def passage_fields(passage: Passage) -> dict[str, object]:
    """Return the values of a passage's row by column."""
    return {
        "ordinal": passage.ordinal,
        "heading": storable(passage.heading),
        "text": storable(passage.text),
        "context": storable(passage.context),
        "digest": passage.digest,
    }


def as_json(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as a statement takes them; their texts are `storable`."""
    return json.dumps(list(rows), ensure_ascii=False)


def clean_passages(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Return passages as they will be read again, by ordinal."""
    return tuple(
        Passage(one.ordinal, clean(one.heading), clean(one.text), clean(one.context), one.digest)
        for one in sorted(passages, key=lambda one: one.ordinal)
    )


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags as they will be read again."""
    return tuple(map(clean, tags))
