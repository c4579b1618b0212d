"""Session store in dicts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from contextfind.adapters.memory.tree import storable
from contextfind.domain.conversation import Archive, Session, SessionMessage
from contextfind.domain.identity import Identity

_Place = tuple[str, str, str]  # account, user, session id


@dataclass(slots=True)
class _Held:
    """A session and what it holds; messages by ordinal, archives by number from 1."""

    session: Session
    messages: list[SessionMessage] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    archives: list[Archive] = field(default_factory=list)

    @property
    def pending(self) -> list[SessionMessage]:
        return self.messages[len(self.messages) - self.session.message_count :]


class MemorySessionStore:
    """`SessionStore` without a file."""

    def __init__(self) -> None:
        self._held: dict[_Place, _Held] = {}

    async def create(
        self, identity: Identity, session_id: str, settings: Mapping[str, object], now: datetime
    ) -> bool:
        """See `SessionStore.create`."""
        place = _place(identity, session_id)
        if place in self._held:
            return False
        self._held[place] = _Held(Session(place[2], identity, now, now, _as_json(settings)))
        return True

    async def get(self, identity: Identity, session_id: str) -> Session | None:
        """See `SessionStore.get`."""
        held = self._held.get(_place(identity, session_id))
        return None if held is None else replace(held.session, identity=identity)

    async def configure(
        self, identity: Identity, session_id: str, settings: Mapping[str, object]
    ) -> Session | None:
        """See `SessionStore.configure`."""
        held = self._held.get(_place(identity, session_id))
        if held is None:
            return None
        changed = {**held.session.settings, **_as_json(settings)}
        held.session = replace(held.session, settings=changed)
        return replace(held.session, identity=identity)

    async def list(self, identity: Identity, limit: int, offset: int = 0) -> Sequence[Session]:
        """See `SessionStore.list`."""
        owner = (identity.account, identity.user)
        mine = [
            replace(held.session, identity=identity)
            for place, held in sorted(self._held.items())
            if place[:2] == owner
        ]
        mine.sort(key=lambda session: session.updated_at, reverse=True)
        return mine[offset : offset + limit]

    async def delete(self, identity: Identity, session_id: str) -> bool:
        """See `SessionStore.delete`."""
        return self._held.pop(_place(identity, session_id), None) is not None

    async def append(
        self, identity: Identity, session_id: str, messages: Sequence[SessionMessage], now: datetime
    ) -> tuple[Session, int]:
        """See `SessionStore.append`."""
        given: dict[str, SessionMessage] = {}
        for message in map(_clean, messages):
            given.setdefault(message.id, message)
        place = _place(identity, session_id)
        held = self._held.setdefault(place, _Held(Session(place[2], identity, now, now)))
        fresh = [message for message in given.values() if message.id not in held.ids]
        start = len(held.messages)
        held.messages += [replace(one, ordinal=start + i) for i, one in enumerate(fresh)]
        held.ids |= {message.id for message in fresh}
        if fresh:
            held.session = _grown(held.session, fresh, now)
        return replace(held.session, identity=identity), len(fresh)

    async def pending(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[SessionMessage]:
        """See `SessionStore.pending`."""
        held = self._held.get(_place(identity, session_id))
        waiting = [] if held is None else held.pending
        return waiting if limit is None else waiting[max(len(waiting) - limit, 0) :]

    async def archive(
        self, identity: Identity, session_id: str, keep: int, now: datetime
    ) -> Archive | None:
        """See `SessionStore.archive`."""
        held = self._held.get(_place(identity, session_id))
        taken = [] if held is None else held.pending[: max(held.session.message_count - keep, 0)]
        if held is None or not taken:
            return None
        made = Archive(
            number=len(held.archives) + 1,
            first=taken[0].ordinal,
            last=taken[-1].ordinal,
            message_count=len(taken),
            tokens=sum(message.tokens for message in taken),
            created_at=now,
        )
        held.archives.append(made)
        held.session = replace(
            held.session,
            updated_at=now,
            message_count=held.session.message_count - made.message_count,
            pending_tokens=held.session.pending_tokens - made.tokens,
            commit_count=held.session.commit_count + 1,
            last_commit_at=now,
        )
        return made

    async def archives(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[Archive]:
        """See `SessionStore.archives`."""
        held = self._held.get(_place(identity, session_id))
        return [] if held is None else held.archives[::-1][:limit]

    async def archived(
        self, identity: Identity, session_id: str, number: int, limit: int | None = None
    ) -> Sequence[SessionMessage]:
        """See `SessionStore.archived`."""
        held = self._held.get(_place(identity, session_id))
        if held is None or not 1 <= number <= len(held.archives):
            return []
        known = held.archives[number - 1]
        first = known.first if limit is None else max(known.first, known.last + 1 - limit)
        return held.messages[first : known.last + 1]

    async def summarise(
        self, identity: Identity, session_id: str, archive: Archive, memories: int = 0
    ) -> None:
        """See `SessionStore.summarise`."""
        held = self._held.get(_place(identity, session_id))
        if held is None or not 1 <= archive.number <= len(held.archives):
            return
        known = held.archives[archive.number - 1]
        if (known.first, known.last, known.created_at) != (
            archive.first,
            archive.last,
            archive.created_at,
        ):
            return  # of a session that was deleted, and another one has its id now
        held.archives[archive.number - 1] = replace(
            known,
            state=archive.state,
            abstract=storable(archive.abstract),
            overview=storable(archive.overview),
            error=storable(archive.error),
        )
        held.session = replace(
            held.session, memories_extracted=held.session.memories_extracted + memories
        )


def _place(identity: Identity, session_id: str) -> _Place:
    return identity.account, identity.user, storable(session_id)


def _clean(message: SessionMessage) -> SessionMessage:
    return replace(
        message,
        id=storable(message.id),
        role=storable(message.role),
        parts=[_as_json(part) for part in message.parts],
        text=storable(message.text),
        extra=_as_json(message.extra),
    )


def _as_json(value: Mapping[str, object]) -> dict[str, object]:
    """Return what JSON in UTF-8 leaves of it, no part of it shared with the caller."""
    text = json.dumps(dict(value), ensure_ascii=False)
    return cast("dict[str, object]", json.loads(storable(text)))


def _grown(session: Session, added: Sequence[SessionMessage], now: datetime) -> Session:
    """Return the session with the counts after these messages were added."""
    said = [message.created_at for message in added]
    before = [] if session.last_message_at is None else [session.last_message_at]
    return replace(
        session,
        updated_at=now,
        message_count=session.message_count + len(added),
        total_message_count=session.total_message_count + len(added),
        pending_tokens=session.pending_tokens + sum(message.tokens for message in added),
        last_message_at=max([*before, *said]),
    )
