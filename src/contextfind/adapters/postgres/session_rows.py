"""Sessions, messages and archives to rows and back."""

import json
from collections.abc import Mapping
from typing import Any, cast

from contextfind.adapters.postgres.texts import restored, storable
from contextfind.domain.conversation import Archive, ArchiveState, Session, SessionMessage
from contextfind.domain.identity import Identity
from contextfind.domain.times import microseconds, moment_of

SESSION_COLUMNS = (
    "key, id, created_at, updated_at, settings, message_count, total_message_count,"
    " pending_tokens, commit_count, memories_extracted, last_message_at, last_commit_at"
)
MESSAGE_COLUMNS = "id, role, parts, text, tokens, created_at, extra, ordinal"
ARCHIVE_COLUMNS = (
    "number, first, last, message_count, tokens, created_at, state, abstract, overview, error"
)

SessionRow = tuple[
    int, str, int, int, str, int, int, int, int, int, int | None, int | None
]  # in the order of SESSION_COLUMNS
MessageRow = tuple[str, str, str, str, int, int, str, int]  # in the order of MESSAGE_COLUMNS
ArchiveRow = tuple[int, int, int, int, int, int, str, str, str, str]  # of ARCHIVE_COLUMNS


def session_of(row: SessionRow, identity: Identity) -> Session:
    """Return the session of a row, as the identity that asked sees it."""
    return Session(
        id=restored(row[1]),
        identity=identity,
        created_at=moment_of(row[2]),
        updated_at=moment_of(row[3]),
        settings=settings_of(row[4]),
        message_count=row[5],
        total_message_count=row[6],
        pending_tokens=row[7],
        commit_count=row[8],
        memories_extracted=row[9],
        last_message_at=None if row[10] is None else moment_of(row[10]),
        last_commit_at=None if row[11] is None else moment_of(row[11]),
    )


def settings_of(text: str) -> dict[str, object]:
    """Return settings as JSON reads them."""
    return cast("dict[str, object]", json.loads(restored(text)))


def message_row(message: SessionMessage, ordinal: int) -> MessageRow:
    """Return the message as the row with this ordinal."""
    return (
        storable(message.id),
        storable(message.role),
        json_text([dict(part) for part in message.parts]),
        storable(message.text),
        message.tokens,
        microseconds(message.created_at),
        json_text(dict(message.extra)),
        ordinal,
    )


def message_of(row: MessageRow) -> SessionMessage:
    """Return the message of a row."""
    return SessionMessage(
        id=restored(row[0]),
        role=restored(row[1]),
        parts=cast("list[dict[str, object]]", json.loads(restored(row[2]))),
        text=restored(row[3]),
        tokens=row[4],
        created_at=moment_of(row[5]),
        extra=cast("dict[str, object]", json.loads(restored(row[6]))),
        ordinal=row[7],
    )


def archive_of(row: ArchiveRow) -> Archive:
    """Return the archive of a row."""
    return Archive(
        number=row[0],
        first=row[1],
        last=row[2],
        message_count=row[3],
        tokens=row[4],
        created_at=moment_of(row[5]),
        state=ArchiveState(row[6]),
        abstract=restored(row[7]),
        overview=restored(row[8]),
        error=restored(row[9]),
    )


def archive_row(archive: Archive) -> ArchiveRow:
    """Return the archive as its row."""
    return (
        archive.number,
        archive.first,
        archive.last,
        archive.message_count,
        archive.tokens,
        microseconds(archive.created_at),
        archive.state.value,
        storable(archive.abstract),
        storable(archive.overview),
        storable(archive.error),
    )


def json_text(value: Mapping[str, Any] | list[dict[str, Any]]) -> str:
    """Return JSON as the columns hold it: characters as they are, half as long in Chinese."""
    return storable(json.dumps(value, ensure_ascii=False))
