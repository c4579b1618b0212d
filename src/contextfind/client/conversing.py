"""Sessions: what was said, and what is left of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from contextfind.client.answers import Task
from contextfind.client.conversations import (
    Appended,
    Archive,
    Committed,
    Session,
    SessionContext,
    SessionLine,
    Sessions,
)
from contextfind.client.envelope import API, body_of, nothing, result, result_of, segment
from contextfind.client.exchange import Answer, Request
from contextfind.client.flow import Flow, FreshId, ask
from contextfind.client.shaping import shaped
from contextfind.client.standing import wait_task

_SESSIONS = f"{API}/sessions"
BATCH = 100  # messages the server takes in one request
LIST = 100  # sessions of a list, if nothing else is said


def create_session(session_id: str | None = None, **settings: object) -> Flow[Session]:
    """Make an empty session, with a name of the server's if you give none.

    settings: kept with it (`memory_policy`, `auto_commit_policy`, …). AlreadyExistsError when there
    is one of that name. The first message of a session makes it too.
    """
    named = {} if session_id is None else {"session_id": session_id}
    return ask(Request("POST", _SESSIONS, result(Session), body={**named, **settings}))


def get_session(session_id: str, *, auto_create: bool = False) -> Flow[Session]:
    """Return a session with its counts; NotFoundError when there is none, unless it may be made."""
    params = {"auto_create": "true"} if auto_create else {}
    return ask(Request("GET", _path(session_id), result(Session), params, again=True))


def list_sessions(limit: int = LIST, offset: int = 0) -> Flow[Sessions]:
    """Return a page of your sessions, the last changed one first."""
    params = {"limit": limit, "offset": offset}
    return ask(Request("GET", _SESSIONS, _sessions, params, again=True))


def delete_session(session_id: str) -> Flow[None]:
    """Remove a session with all its messages and archives; NotFoundError when there is none."""
    return ask(Request("DELETE", _path(session_id), nothing))


def add_message(
    session_id: str,
    role: str,
    content: str | None = None,
    *,
    parts: Sequence[Mapping[str, object]] | None = None,
    message_id: str | None = None,
    created_at: str | None = None,
    **extra: object,
) -> Flow[Appended]:
    """Say something in a session; the first message makes it.

    Give `content` or `parts` (JSON objects with a `type`). The message has an id, yours or a fresh
    one: sent twice, it is kept once, so a lost answer is no harm. extra: `peer_id`, `turn_id`, ….
    """
    said = {"id": message_id, "content": content, "parts": parts, "created_at": created_at}
    bodies = yield from _numbered([{"role": role, **_given(said), **extra}])
    path = f"{_path(session_id)}/messages"
    return (yield from _appended(path, bodies[0], bodies))


def add_messages(session_id: str, messages: Sequence[Mapping[str, object]]) -> Flow[Appended]:
    """Add messages in order, at most 100 in a request, as many requests as that takes.

    Each is what `add_message` sends: `role`, `content` or `parts`, and if you like `id`, `created_at`.
    What a failed call has added stays; sent again with the same ids, nothing is doubled.
    """
    bodies = yield from _numbered(messages)
    path = f"{_path(session_id)}/messages/batch"
    done = yield from _appended(path, {"messages": bodies[:BATCH]}, bodies)
    for start in range(BATCH, len(bodies), BATCH):
        more = {"messages": bodies[start : start + BATCH]}
        before = done.added
        done = yield from _appended(path, more, bodies)
        if before is not None and done.added is not None:
            done = replace(done, added=before + done.added)
    return done


def session_context(session_id: str, token_budget: int | None = None) -> Flow[SessionContext]:
    """Return what a model should be told of a session: recent messages and summaries of older ones."""
    params = {} if token_budget is None else {"token_budget": token_budget}
    path = f"{_path(session_id)}/context"
    return ask(Request("GET", path, result(SessionContext), params, again=True))


def commit_session(
    session_id: str,
    keep_recent_count: int | None = None,
    *,
    wait: bool = False,
    timeout: float | None = None,
) -> Flow[Committed]:
    """Archive the messages but the last ones, and let them be summarised in the background.

    With `wait` the summary, and what was learned from it, is there; see `wait_task` for `timeout` and
    the errors.
    """
    body = {} if keep_recent_count is None else {"keep_recent_count": keep_recent_count}
    request = Request("POST", f"{_path(session_id)}/commit", result(Committed), body=body)
    committed = yield from ask(request)
    ended: Task | None = None
    if wait and committed.task_id:
        ended = yield from wait_task(committed.task_id, timeout)
    return replace(committed, task=ended)


def session_archives(session_id: str) -> Flow[tuple[Archive, ...]]:
    """Return the archives of a session without their messages, newest first."""
    reader = result(tuple[Archive, ...])
    return ask(Request("GET", f"{_path(session_id)}/archives", reader, again=True))


def session_archive(session_id: str, archive_id: str) -> Flow[Archive]:
    """Return an archive with its summary and its messages."""
    path = f"{_path(session_id)}/archives/{segment(archive_id)}"
    return ask(Request("GET", path, result(Archive), again=True))


def _numbered(messages: Sequence[Mapping[str, object]]) -> Flow[list[Mapping[str, object]]]:
    """Return messages that have an id each."""
    numbered: list[Mapping[str, object]] = []
    for said in messages:
        fresh = {} if said.get("id") else {"id": (yield FreshId())}
        numbered.append({**said, **fresh})
    return numbered


def _appended(
    path: str, body: Mapping[str, object], said: Sequence[Mapping[str, object]]
) -> Flow[Appended]:
    """Send messages, and return the session after it with the ids of what was said in all."""
    done = yield from ask(Request("POST", path, result(Appended), body=body, again=True))
    return replace(done, message_ids=tuple(str(message["id"]) for message in said))


def _sessions(answer: Answer) -> Sessions:
    lines = shaped(tuple[SessionLine, ...], result_of(answer))
    return Sessions(lines, bool(body_of(answer).get("has_more", False)))


def _given(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value is not None}


def _path(session_id: str) -> str:
    return f"{_SESSIONS}/{segment(session_id)}"
