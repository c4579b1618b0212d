"""sessions/*: what a caller says."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.session_ids import EXPECTED, parse_session_id
from contextfind.domain.times import parse_moment
from contextfind.server.envelope import header_list
from contextfind.server.wire.body import NO_FLAG, Body, Params, Telemetry, Text
from contextfind.server.wire.free_json import FREE, LONGEST, FreeObject
from contextfind.server.wire.listing import MAX_NODES
from contextfind.sessions.messages import Said

BATCH = 100  # messages of one request; clients cut what they have kept into pieces of this size
_PARTS = 1_000
_NAME = 200  # characters of a role or an id
_DEFAULT_SESSIONS = 1_000
_DEFAULT_BUDGET = 128_000  # tokens; what the models of most callers can read
_LARGEST_BUDGET = 1_000_000
_MOST_KEPT = 10_000
_MILLISECONDS = 1e11  # a larger number of seconds since 1970 lies in the year 5138
_UNUSED = ("memory_policy", "auto_commit_policy", "memory_extraction_config")

Name = Annotated[Text, Field(max_length=_NAME)]
Parts = Annotated[list[dict[str, Any]], Field(max_length=_PARTS), FREE]


def _session_id(text: str) -> str:
    try:
        return parse_session_id(text)
    except InvalidArgumentError:
        raise PydanticCustomError("session_id", f"expected {EXPECTED}") from None


SessionId = Annotated[str, Path(description="The session."), AfterValidator(_session_id)]


ArchiveId = Annotated[str, Path(description="`archive_001` is the oldest.")]


class SettingsBody(Body):
    """What a caller keeps with a session."""

    memory_policy: Annotated[
        FreeObject | None, Field(description="Kept and given back; changes nothing.")
    ] = None
    auto_commit_policy: Annotated[
        FreeObject | None, Field(description="Kept and given back; changes nothing.")
    ] = None
    memory_extraction_config: Annotated[
        FreeObject | None, Field(description="Kept and given back; changes nothing.")
    ] = None

    def settings(self) -> dict[str, object]:
        """Return what is kept with the session."""
        return self.model_dump(include=set(_UNUSED), exclude_none=True)

    def ignored_header(self) -> dict[str, str]:
        """Return `X-Ignored-Fields`; what is only kept has no effect either."""
        return _ignored([*(self.model_extra or {}), *self.settings()])


class SessionBody(SettingsBody):
    """A session to be made."""

    session_id: Annotated[
        Text,
        Field(description="What it is called: one segment of an address. Absent: a fresh id."),
    ] = ""


class MessageBody(Body):
    """A message: what was said, as text or in parts."""

    role: Annotated[Name, Field(min_length=1, description="`user`, `assistant`, `tool`, …")]
    parts: Annotated[
        Parts, Field(description="Objects with a `type`: text, context, tool, …; they are kept.")
    ] = Field(default_factory=list)
    content: Annotated[
        Annotated[Text, Field(max_length=LONGEST)] | None,
        Field(description="What was said, when there are no parts.", validate_default=True),
    ] = None
    id: Annotated[
        Name, Field(description="The caller's own; a message that is there is not added again.")
    ] = ""
    message_id: Annotated[Name, Field(description="Another spelling of `id`.")] = ""
    created_at: Annotated[
        Any,
        Field(description="ISO 8601, or seconds since 1970. Absent or unreadable: now."),
    ] = None
    peer_id: Annotated[Name | None, Field(description="Kept with it: who is talked to.")] = None
    turn_id: Annotated[Name | int | None, Field(description="Kept with it: which turn.")] = None
    message_kind: Annotated[Name | None, Field(description="Kept with it: what it is.")] = None
    telemetry: Annotated[Telemetry, Field(description="Add what was measured.")] = False

    @field_validator("content")
    @classmethod
    def or_parts(cls, content: str | None, info: ValidationInfo) -> str | None:
        """Refuse a message with neither text nor parts; `parts` has been read before."""
        if content is None and not info.data.get("parts", True):
            raise PydanticCustomError("no_content", "expected text, or parts (a list of objects)")
        return content

    def said(self, now: datetime) -> Said:
        """Return the message; `now` is what relative times count from."""
        return Said(
            role=self.role,
            parts=self.parts or [{"type": "text", "text": self.content or ""}],
            id=self.id or self.message_id or None,
            created_at=_moment(self.created_at, now),
            extra=self.model_dump(
                include={"peer_id", "turn_id", "message_kind"}, exclude_none=True
            ),
        )

    def ignored(self, now: datetime) -> list[str]:
        """Return the fields that had no effect."""
        lost = {
            "content": bool(self.parts and self.content),
            "message_id": bool(self.id) and self.message_id not in ("", self.id),
            "created_at": self.created_at is not None and _moment(self.created_at, now) is None,
        }
        return [*(self.model_extra or {}), *(name for name, is_lost in lost.items() if is_lost)]

    def ignored_fields(self, now: datetime) -> dict[str, str]:
        """Return `X-Ignored-Fields` when something had no effect."""
        return _ignored(self.ignored(now))


class BatchBody(Body):
    """Messages in the order in which they were said; all are added, or none."""

    messages: Annotated[list[MessageBody], Field(max_length=BATCH, description=f"At most {BATCH}.")]
    telemetry: Annotated[Telemetry, Field(description="Add what was measured.")] = False

    def said(self, now: datetime) -> Sequence[Said]:
        """Return the messages."""
        return [message.said(now) for message in self.messages]

    def ignored_fields(self, now: datetime) -> dict[str, str]:
        """Return `X-Ignored-Fields`: a field of a message is `messages.FIELD`."""
        inner = {f"messages.{name}" for one in self.messages for name in one.ignored(now)}
        return _ignored([*(self.model_extra or {}), *inner])


class CommitBody(Body):
    """What of a session is to be archived."""

    keep_recent_count: Annotated[
        Annotated[int, Field(ge=0, le=_MOST_KEPT), NO_FLAG],
        Field(description="How many of the last messages stay as they are."),
    ] = 0
    telemetry: Annotated[Telemetry, Field(description="Add what was measured.")] = False


class Unused(Body):
    """Whatever a client of an earlier version sends; nothing is done with it."""


class SessionParams(Params):
    """How to look at a session."""

    auto_create: Annotated[bool, Field(description="Make it when it is not there.")] = False


class SessionsParams(Params):
    """Which sessions: the last changed one is the first."""

    limit: Annotated[int, Field(ge=1, le=MAX_NODES, description="Sessions of a page.")] = (
        _DEFAULT_SESSIONS
    )
    offset: Annotated[int, Field(ge=0, description="Sessions before the page.")] = 0


class ContextParams(Params):
    """How much of a session."""

    token_budget: Annotated[
        int,
        Field(
            ge=0,
            le=_LARGEST_BUDGET,
            description="Tokens of messages and summaries together; the last message is always there.",
        ),
    ] = _DEFAULT_BUDGET


def _moment(value: object, now: datetime) -> datetime | None:
    """Return when it was said, None where that cannot be read."""
    try:
        if isinstance(value, str):
            return parse_moment(value, "since", now)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        seconds = value / 1_000 if abs(value) > _MILLISECONDS else value
        return datetime.fromtimestamp(seconds, UTC)
    except (InvalidArgumentError, ValueError, OverflowError, OSError):
        return None


def _ignored(names: Iterable[str]) -> dict[str, str]:
    listed = header_list(sorted(set(names)))
    return {"X-Ignored-Fields": listed} if listed else {}
