"""What is answered about sessions, as frozen dataclasses; see `answers` for what they have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from contextfind.client.answers import Task, Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Told):
    """A conversation, as counted by the server.

    message_count, pending_tokens: of the messages that are not archived.
    """

    session_id: str
    uri: str = ""
    created_at: str = ""
    updated_at: str = ""
    message_count: int = 0
    total_message_count: int = 0
    pending_tokens: int = 0
    commit_count: int = 0
    memories_extracted: Mapping[str, Any] = field(default_factory=dict)
    last_message_at: str = ""
    last_commit_at: str = ""

    @property
    def archived_message_count(self) -> int:
        """How many messages are archived."""
        return max(self.total_message_count - self.message_count, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLine(Told):
    """A session in a list."""

    session_id: str
    uri: str = ""
    mod_time: str = ""


class Sessions(NamedTuple):
    """A page of sessions, and whether there are more behind it."""

    sessions: tuple[SessionLine, ...]
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended(Told):
    """The session after messages were added; `message_ids` are those they have, in order.

    added: how many were new to it, None when the server does not tell.
    """

    session_id: str
    added: int | None = None
    message_count: int = 0
    pending_tokens: int = 0
    message_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Told):
    """One message; `parts` are JSON objects with a `type`."""

    role: str
    id: str = ""
    parts: tuple[Mapping[str, Any], ...] = ()
    created_at: str = ""

    @property
    def text(self) -> str:
        """What of it is text, joined by line breaks."""
        texts = (part.get("text") for part in self.parts)
        return "\n".join(text for text in texts if isinstance(text, str))


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive(Told):
    """Messages that were committed together, and their summary; `abstract` is one line of it.

    status: pending, done or failed; `error` says why there is no summary. overview, messages: not in
    a list.
    """

    archive_id: str
    abstract: str = ""
    overview: str = ""
    messages: tuple[Message, ...] = ()
    uri: str = ""
    status: str = ""
    error: str = ""
    message_count: int = 0
    created_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext(Told):
    """What a model should be told of a session within a budget; messages oldest first.

    latest_archive_overview: what stands for the archived messages. pre_archive_abstracts: a line for
    each archive before that one.
    """

    latest_archive_overview: str = ""
    pre_archive_abstracts: tuple[Archive, ...] = ()
    messages: tuple[Message, ...] = ()
    estimated_tokens: int = 0
    stats: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed(Told):
    """What a commit began: `status` is accepted, or skipped when there was nothing to archive.

    task: how the work behind it ended, when that was waited for.
    """

    session_id: str
    status: str
    archived: bool = False
    task_id: str = ""
    archive_uri: str = ""
    reason: str = ""
    task: Task | None = None
