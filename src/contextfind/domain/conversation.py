"""What is said in a session, and what is left of it when it is archived."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from contextfind.domain.identity import Identity

LAST_MESSAGES = 5  # that a planner is told: a question refers to what was said shortly before


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """One message of a conversation.

    id: the caller's, or one of ours; unique in its session. role: as the caller says it (`user`,
        `assistant`, `tool`, …). parts: as sent, JSON objects with a `type`. text: all that is readable
        in them, joined by line breaks. tokens: an estimate for `text`. extra: other fields as sent
        (`peer_id`, `turn_id`, `message_kind`).
    ordinal: place in the session, from 0; given by the store.
    """

    id: str
    role: str
    parts: Sequence[Mapping[str, object]]
    text: str
    tokens: int
    created_at: datetime
    extra: Mapping[str, object] = field(default_factory=dict)
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation of one user, as counted by the store.

    identity: who asked for it; account and user are the owner's.
    updated_at: when it was made, or last given or archived messages.
    message_count, pending_tokens: of the messages that are not archived. total_message_count: with
        those that are. last_message_at: the latest `created_at` of any message.
    settings: JSON as the caller sent it, at creation or later (`memory_policy`, `auto_commit_policy`, …).
    """

    id: str
    identity: Identity
    created_at: datetime
    updated_at: datetime
    settings: Mapping[str, object] = field(default_factory=dict)
    message_count: int = 0
    total_message_count: int = 0
    pending_tokens: int = 0
    commit_count: int = 0
    memories_extracted: int = 0
    last_message_at: datetime | None = None
    last_commit_at: datetime | None = None


class ArchiveState(StrEnum):
    """Whether an archive has its summary: it is readable in every state."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Archive:
    """Messages that were committed together, and their summary.

    number: 1 is the oldest of its session. first, last: ordinals of its messages, both inside.
    abstract: one line. overview: the summary that stands for the messages in a prompt. Both are empty
        while PENDING. error: why it FAILED; of a DONE one, what a model still owes it, a line each.
    """

    number: int
    first: int
    last: int
    message_count: int
    tokens: int
    created_at: datetime
    state: ArchiveState = ArchiveState.PENDING
    abstract: str = ""
    overview: str = ""
    error: str = ""

    @property
    def id(self) -> str:
        """Return the name it has in addresses: `archive_001`."""
        return f"archive_{self.number:03d}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a planner is told of a session: the summary of what is archived, and the last messages.

    messages: oldest first.
    """

    summary: str = ""
    messages: Sequence[SessionMessage] = ()
