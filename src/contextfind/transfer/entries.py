"""What stands in an export: who it is for, accounts, records with their contents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from contextfind.domain.conversation import Archive, Session, SessionMessage
from contextfind.domain.identity import Role
from contextfind.domain.records import Record, RecordId, Vector
from contextfind.ports import RecordCopy, RecordDraft

FORMAT = "contextfind-export"
VERSION = 1  # a reader refuses what is newer: it cannot know what it would lose


@dataclass(frozen=True, slots=True)
class Header:
    """The first line.

    fingerprint, dimension: of the embedder that made the vectors; empty and 0 for a file without any.
    account: the only one inside, empty for all. counts: `accounts`, `records`, `passages` where known.
    """

    created_at: datetime
    fingerprint: str = ""
    dimension: int = 0
    account: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """A user of an account."""

    id: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Tenant:
    """An account with its users by id; keys are never in an export."""

    id: str
    created_at: datetime
    users: Sequence[Member] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A record with its bytes.

    content: its body, None when the abstract is all there is. original: the bytes of the file it was
    made from where they are kept beside the body (PDF and the like).
    """

    copy: RecordCopy
    content: bytes | None = None
    original: bytes | None = None


@dataclass(frozen=True, slots=True)
class SessionCopy:
    """A conversation with all that was said in it.

    archives: oldest first. messages: all of them, archived or not, oldest first.
    """

    session: Session
    archives: Sequence[Archive]
    messages: Sequence[SessionMessage]


@dataclass(frozen=True, slots=True)
class Totals:
    """How much of each kind a file or a part of it has."""

    accounts: int = 0
    records: int = 0
    passages: int = 0
    vectors: int = 0
    sessions: int = 0
    messages: int = 0

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(
            self.accounts + other.accounts,
            self.records + other.records,
            self.passages + other.passages,
            self.vectors + other.vectors,
            self.sessions + other.sessions,
            self.messages + other.messages,
        )


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that were proven whole together; the unit of what an import commits.

    first, last: their numbers in the file, from 1.
    """

    first: int
    last: int
    tenants: Sequence[Tenant]
    entries: Sequence[Entry]
    sessions: Sequence[SessionCopy]
    totals: Totals


def copy_of(
    account: str,
    draft: RecordDraft,
    created_at: datetime,
    *,
    updated_at: datetime | None = None,
    active_count: int = 0,
    vectors: Sequence[Vector | None] = (),
) -> RecordCopy:
    """Return the copy of a record that no store has yet.

    updated_at: `created_at` when left out. vectors: one for each passage, or none at all.
    """
    record = Record(
        id=RecordId(0),
        account=account,
        owner=draft.uri.owner,
        uri=draft.uri,
        level=draft.level,
        context_type=draft.context_type,
        abstract=draft.abstract,
        tags=draft.tags or (),
        created_at=created_at,
        updated_at=created_at if updated_at is None else updated_at,
        content=draft.content,
        source=draft.source,
        size=draft.size,
        active_count=active_count,
        origin=draft.origin,
    )
    return RecordCopy(record, draft.passages, vectors or [None] * len(draft.passages))
