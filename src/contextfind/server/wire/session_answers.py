"""sessions/*: how sessions, messages, archives and contexts are shown."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # before 3.12 pydantic takes no other

from contextfind.domain.conversation import Archive, ArchiveState, Session, SessionMessage
from contextfind.domain.identity import Identity
from contextfind.domain.session_ids import archive_uri, session_uri
from contextfind.server.wire.answers import Address, Amount, Moment, exact
from contextfind.server.wire.listing import iso
from contextfind.sessions.commit import Committed
from contextfind.sessions.conversations import Told

Unknown = Annotated[None, Field(description="Not counted, or not kept, by this server.")]
FreeForm = Annotated[dict[str, Any] | None, Field(description="As it was sent.")]


@exact
class SessionUser(TypedDict):
    """Whose session it is."""

    account_id: str
    user_id: str


@exact
class NewSession(TypedDict):
    """A session that was made."""

    session_id: str
    uri: Address
    user: SessionUser
    memory_policy: FreeForm
    auto_commit_policy: FreeForm
    memory_extraction_config: FreeForm


@exact
class Extracted(TypedDict):
    """How many memories were taken out of a session."""

    total: Amount


@exact
class ModelTokens(TypedDict):
    """What language models were given and gave; not counted by session."""

    prompt_tokens: Unknown
    completion_tokens: Unknown
    total_tokens: Unknown
    cached_tokens: Unknown
    reasoning_tokens: Unknown


@exact
class EmbeddingTokens(TypedDict):
    """What the embedder was given; not counted by session."""

    total_tokens: Unknown


@exact
class SessionShown(NewSession):
    """A session; `message_count` and `pending_tokens` are of what is not archived."""

    created_at: Moment
    updated_at: Moment
    created_by_account_id: str
    created_by_user_id: str
    message_count: Amount
    total_message_count: Amount
    pending_tokens: Amount
    commit_count: Amount
    memories_extracted: Extracted
    last_message_at: Moment | None
    last_commit_at: Moment | None
    last_auto_commit_at: Unknown
    last_idle_commit_accepted_at: Unknown
    llm_token_usage: ModelTokens
    embedding_token_usage: EmbeddingTokens
    keep_recent_count: Unknown
    retention_mode: Unknown
    keep_recent_turn_count: Unknown
    retained_message_token_budget: Unknown
    min_raw_tail_steps: Unknown


@exact
class SessionLine(TypedDict):
    """A session in a list."""

    session_id: str
    uri: Address
    is_dir: Literal[True]
    mod_time: Moment


@exact
class GoneSession(TypedDict):
    """A session that was removed."""

    session_id: str


@exact
class Heard(TypedDict):
    """A session after messages came; `added` leaves out those that were there already."""

    session_id: str
    message_count: Amount
    added: Amount
    pending_tokens: Amount


@exact
class MessageShown(TypedDict):
    """A message as it was said."""

    id: str
    role: str
    parts: list[dict[str, Any]]
    created_at: Moment
    peer_id: NotRequired[str]
    turn_id: NotRequired[str | int]
    message_kind: NotRequired[str]


@exact
class ArchiveAbstract(TypedDict):
    """An archive in a line."""

    archive_id: str
    abstract: str


@exact
class ContextStats(TypedDict):
    """How many archives there are and were told, and what messages and summaries cost."""

    totalArchives: Amount
    includedArchives: Amount
    droppedArchives: Amount
    failedArchives: Amount
    activeTokens: Amount
    archiveTokens: Amount


@exact
class ContextShown(TypedDict):
    """What fits a budget; messages and abstracts oldest first, abstracts before the overview."""

    latest_archive_overview: str
    pre_archive_abstracts: list[ArchiveAbstract]
    messages: list[MessageShown]
    estimatedTokens: Amount
    stats: ContextStats


@exact
class ArchiveLine(ArchiveAbstract):
    """An archive in a list; `error` says why one has no summary."""

    uri: Address
    status: Literal["pending", "done", "failed"]
    error: str | None
    message_count: Amount
    created_at: Moment


@exact
class ArchiveShown(ArchiveLine):
    """An archive, its summary, and what was said, oldest first."""

    overview: str
    messages: list[MessageShown]


@exact
class CommitShown(TypedDict):
    """What a commit did at once; the task writes the summary and finds memories.

    skipped: nothing was archived and nothing goes on; `reason` says why. An accepted one with a
    `reason` archived nothing new, but goes on with what an earlier one could not finish.
    """

    session_id: str
    status: Literal["accepted", "skipped"]
    task_id: str | None
    archive_uri: Address | None
    archived: bool
    reason: str | None
    estimated_active_tokens: Annotated[int, Field(ge=0, description="Of what stays.")]
    trace_id: Annotated[str, Field(description="The id of the request.")]


@exact
class Noted(TypedDict):
    """A request that changes nothing, and why."""

    session_id: str
    note: str


def new_session(session: Session) -> dict[str, object]:
    """Return the `result` of making a session."""
    who = session.identity
    return {
        "session_id": session.id,
        "uri": session_uri(who, session.id).text,
        "user": {"account_id": who.account, "user_id": who.user},
        "memory_policy": session.settings.get("memory_policy"),
        "auto_commit_policy": session.settings.get("auto_commit_policy"),
        "memory_extraction_config": session.settings.get("memory_extraction_config"),
    }


def session_shown(session: Session) -> dict[str, object]:
    """Return a session with its counts; what this server does not know is null."""
    who = session.identity
    uncounted = dict.fromkeys(ModelTokens.__annotations__)
    return {
        **new_session(session),
        "created_at": iso(session.created_at),
        "updated_at": iso(session.updated_at),
        "created_by_account_id": who.account,
        "created_by_user_id": who.user,
        "message_count": session.message_count,
        "total_message_count": session.total_message_count,
        "pending_tokens": session.pending_tokens,
        "commit_count": session.commit_count,
        "memories_extracted": {"total": session.memories_extracted},
        "last_message_at": _iso(session.last_message_at),
        "last_commit_at": _iso(session.last_commit_at),
        "last_auto_commit_at": None,
        "last_idle_commit_accepted_at": None,
        "llm_token_usage": uncounted,
        "embedding_token_usage": {"total_tokens": None},
        "keep_recent_count": None,
        "retention_mode": None,
        "keep_recent_turn_count": None,
        "retained_message_token_budget": None,
        "min_raw_tail_steps": None,
    }


def session_line(session: Session) -> dict[str, object]:
    """Return a session in a list."""
    uri = session_uri(session.identity, session.id)
    mod_time = iso(session.updated_at)
    return {"session_id": session.id, "uri": uri.text, "is_dir": True, "mod_time": mod_time}


def heard(session: Session, added: int) -> dict[str, object]:
    """Return the `result` of adding messages."""
    return {
        "session_id": session.id,
        "message_count": session.message_count,
        "added": added,
        "pending_tokens": session.pending_tokens,
    }


def context_shown(told: Told) -> dict[str, object]:
    """Return what of a session fits a budget."""
    context = told.context
    included = len(context.abstracts) + (1 if context.overview else 0)
    done, failed = (
        sum(archive.state is state for archive in told.archives)
        for state in (ArchiveState.DONE, ArchiveState.FAILED)
    )
    return {
        "latest_archive_overview": context.overview,
        "pre_archive_abstracts": [_abstract(archive) for archive in context.abstracts],
        "messages": [_message(message) for message in context.messages],
        "estimatedTokens": context.message_tokens + context.archive_tokens,
        "stats": {
            "totalArchives": max(told.session.commit_count, len(told.archives)),
            "includedArchives": included,
            "droppedArchives": done - included,
            "failedArchives": failed,
            "activeTokens": context.message_tokens,
            "archiveTokens": context.archive_tokens,
        },
    }


def commit_shown(identity: Identity, done: Committed, request_id: str) -> dict[str, object]:
    """Return what a commit did at once."""
    name, archive = done.session_id, done.archive
    return {
        "session_id": name,
        "status": "skipped" if done.job is None else "accepted",
        "task_id": None if done.job is None else done.job.id,
        "archive_uri": None if archive is None else archive_uri(identity, name, archive).text,
        "archived": archive is not None and not done.reason,
        "reason": done.reason or None,
        "estimated_active_tokens": done.active_tokens,
        "trace_id": request_id,
    }


def archive_line(session: Session, archive: Archive) -> dict[str, object]:
    """Return an archive in a list."""
    return {
        **_abstract(archive),
        "uri": archive_uri(session.identity, session.id, archive).text,
        "status": archive.state.value,
        "error": archive.error or None,
        "message_count": archive.message_count,
        "created_at": iso(archive.created_at),
    }


def archive_shown(
    session: Session, archive: Archive, messages: Sequence[SessionMessage]
) -> dict[str, object]:
    """Return an archive with its messages."""
    return {
        **archive_line(session, archive),
        "overview": archive.overview,
        "messages": [_message(message) for message in messages],
    }


def _abstract(archive: Archive) -> dict[str, object]:
    return {"archive_id": archive.id, "abstract": archive.abstract}


def _message(message: SessionMessage) -> Mapping[str, object]:
    own: dict[str, object] = {
        "id": message.id,
        "role": message.role,
        "parts": list(message.parts),
        "created_at": iso(message.created_at),
    }
    return own | {**message.extra, **own}


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
