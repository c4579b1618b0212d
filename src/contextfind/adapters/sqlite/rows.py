"""Domain values to rows and back."""

import json
from collections.abc import Sequence
from functools import lru_cache

from contextfind.domain.errors import DamagedError
from contextfind.domain.records import KINDS, LEVELS, Passage, Record, RecordId
from contextfind.domain.times import moment_of
from contextfind.domain.uri import Uri

CURE = (  # of damage that the program cannot repair
    "stop the server, see what is hit with: contextfind doctor --deep, "
    "and put the data back from a backup"
)
RECORD_COLUMNS = (
    "id, account, owner, uri, level, context_type, abstract, tags, created_at, updated_at,"
    " content, source, size, active_count, origin"
)
PASSAGE_COLUMNS = "ordinal, heading, text, context, digest"

RecordRow = tuple[
    int, str, str, str, int, str, str, str, int, int, str, str, int, int, str
]  # in the order of RECORD_COLUMNS
PassageRow = tuple[int, str, str, str, str]  # in the order of PASSAGE_COLUMNS


def storable(text: str) -> str:
    """Return the text as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def record_of(row: RecordRow) -> Record:
    """Return the record of a row.

    Raises:
        DamagedError: no record was ever written like this.

    """
    try:
        return _record_of(row)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise DamagedError(f"the row of record {row[0]} is damaged; {CURE}") from error


def _record_of(row: RecordRow) -> Record:
    return Record(
        id=RecordId(row[0]),
        account=row[1],
        owner=row[2],
        uri=Uri(row[3]),
        level=LEVELS[row[4]],
        context_type=KINDS[row[5]],
        abstract=row[6],
        tags=tags_of(row[7]),
        created_at=moment_of(row[8]),
        updated_at=moment_of(row[9]),
        content=row[10],
        source=row[11],
        size=row[12],
        active_count=row[13],
        origin=row[14],
    )


@lru_cache(maxsize=1_024)  # the same few sets of tags come again and again
def tags_of(text: str) -> tuple[str, ...]:
    """Undo `tags_text`."""
    return tuple(json.loads(text))


def tags_text(tags: tuple[str, ...]) -> str:
    """Return tags the way the `tags` column holds them."""
    return json.dumps([storable(tag) for tag in tags], ensure_ascii=False)


def passage_rows(passages: Sequence[Passage]) -> list[PassageRow]:
    """Return passages as rows, by ordinal."""
    return [
        (
            passage.ordinal,
            storable(passage.heading),
            storable(passage.text),
            storable(passage.context),
            passage.digest,
        )
        for passage in sorted(passages, key=lambda passage: passage.ordinal)
    ]


def passage_of(row: PassageRow) -> Passage:
    """Return the passage of a row."""
    return Passage(*row)
