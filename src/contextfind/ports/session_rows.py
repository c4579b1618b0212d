"""Sessions, messages and archives as rows of tables, and back: what all stores with tables have in common."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

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


@dataclass(frozen=True, slots=True)
class SessionRows:
    """Turns values into rows and rows into values; times in microseconds, JSON as text.

    storable: turns a text into one that the database takes. restored: undoes it, as far as it can be undone.
    """

    storable: Callable[[str], str]
    restored: Callable[[str], str] = str

    def session_of(self, row: SessionRow, identity: Identity) -> Session:
        """Return the session of a row, as the identity that asked sees it."""
        return Session(
            id=self.restored(row[1]),
            identity=identity,
            created_at=moment_of(row[2]),
            updated_at=moment_of(row[3]),
            settings=self.settings_of(row[4]),
            message_count=row[5],
            total_message_count=row[6],
            pending_tokens=row[7],
            commit_count=row[8],
            memories_extracted=row[9],
            last_message_at=None if row[10] is None else moment_of(row[10]),
            last_commit_at=None if row[11] is None else moment_of(row[11]),
        )

    def settings_of(self, text: str) -> dict[str, object]:
        """Return settings as JSON reads them."""
        return cast("dict[str, object]", json.loads(self.restored(text)))

    def message_values(self, message: SessionMessage) -> tuple[str, str, str, str, int, int, str]:
        """Return the message in the order of MESSAGE_COLUMNS, without the ordinal."""
        return (
            self.storable(message.id),
            self.storable(message.role),
            self.json_text([dict(part) for part in message.parts]),
            self.storable(message.text),
            message.tokens,
            microseconds(message.created_at),
            self.json_text(dict(message.extra)),
        )

    def message_of(self, row: MessageRow) -> SessionMessage:
        """Return the message of a row."""
        return SessionMessage(
            id=self.restored(row[0]),
            role=self.restored(row[1]),
            parts=cast("list[dict[str, object]]", json.loads(self.restored(row[2]))),
            text=self.restored(row[3]),
            tokens=row[4],
            created_at=moment_of(row[5]),
            extra=cast("dict[str, object]", json.loads(self.restored(row[6]))),
            ordinal=row[7],
        )

    def archive_values(self, archive: Archive) -> ArchiveRow:
        """Return the archive in the order of ARCHIVE_COLUMNS."""
        return (
            archive.number,
            archive.first,
            archive.last,
            archive.message_count,
            archive.tokens,
            microseconds(archive.created_at),
            archive.state.value,
            self.storable(archive.abstract),
            self.storable(archive.overview),
            self.storable(archive.error),
        )

    def archive_of(self, row: ArchiveRow) -> Archive:
        """Return the archive of a row."""
        return Archive(
            number=row[0],
            first=row[1],
            last=row[2],
            message_count=row[3],
            tokens=row[4],
            created_at=moment_of(row[5]),
            state=ArchiveState(row[6]),
            abstract=self.restored(row[7]),
            overview=self.restored(row[8]),
            error=self.restored(row[9]),
        )

    def json_text(self, value: Mapping[str, Any] | list[dict[str, Any]]) -> str:
        """Return JSON as the columns hold it: characters as they are, half as long in Chinese."""
        return self.storable(json.dumps(value, ensure_ascii=False))
