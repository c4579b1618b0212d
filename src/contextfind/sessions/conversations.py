"""Conversations: what is said, what is left of it in a prompt, what a planner is told."""

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextfind.domain.conversation import (
    LAST_MESSAGES,
    Archive,
    ArchiveState,
    Conversation,
    Session,
    SessionMessage,
)
from contextfind.domain.errors import AlreadyExistsError, InvalidArgumentError, NotFoundError
from contextfind.domain.filter_faults import shown
from contextfind.domain.identity import Identity
from contextfind.domain.session_ids import parse_session_id
from contextfind.ports import Clock, IdMaker, SessionStore
from contextfind.sessions.budget import SessionContext, summarised, within
from contextfind.sessions.messages import Said, message_of

_FIRST_LOOK = 200  # messages read at once; a budget that holds more is looked for in longer steps
_STEP = 4
_ARCHIVES_TOLD = 100  # newest ones among which a budget is shared; more abstracts are no context
_ABSTRACTS = 10  # of archives that stand for a summary which is not there yet
_ID_LENGTH = 16  # of a made id, behind the time: 64 random bits


@dataclass(frozen=True, slots=True)
class Told:
    """A session, what of it fits a budget, and its newest archives, newest first."""

    session: Session
    context: SessionContext
    archives: Sequence[Archive]


class Conversations:
    """Keeps the conversations of each user, and tells what is in them.

    Every method refuses an id that cannot be one (InvalidArgumentError), and all but `create`, `add`
    and `recollect` raise NotFoundError for a session the identity does not have.
    """

    def __init__(self, store: SessionStore, clock: Clock, new_id: IdMaker) -> None:
        self._store = store
        self._clock = clock
        self._new_id = new_id

    async def create(
        self, identity: Identity, session_id: str | None, settings: Mapping[str, object]
    ) -> Session:
        """Make an empty session, with an id of its own when none is given.

        Raises:
            AlreadyExistsError: the user has one with this id.

        """
        now = self._clock()
        made = f"{now:%Y%m%d-%H%M%S}-{self._new_id()[:_ID_LENGTH]}"
        name = made if session_id is None else parse_session_id(session_id)
        if not await self._store.create(identity, name, settings, now):
            raise AlreadyExistsError(
                f"session {name!r} exists", {"resource": name, "type": "session"}
            )
        return await self.get(identity, name)

    async def get(self, identity: Identity, session_id: str, *, create: bool = False) -> Session:
        """Return a session with its counts; `create` makes one that is not there."""
        name = parse_session_id(session_id)
        session = await self._store.get(identity, name)
        if session is None and create:
            await self._store.create(identity, name, {}, self._clock())
            session = await self._store.get(identity, name)
        if session is None:
            raise _unknown(name)
        return session

    async def configure(
        self, identity: Identity, session_id: str, settings: Mapping[str, object]
    ) -> Session:
        """Change these settings of a session, and return it."""
        name = parse_session_id(session_id)
        session = await self._store.configure(identity, name, settings)
        if session is None:
            raise _unknown(name)
        return session

    async def list(self, identity: Identity, limit: int, offset: int = 0) -> Sequence[Session]:
        """Return the user's sessions, the last changed one first."""
        return await self._store.list(identity, limit, offset)

    async def delete(self, identity: Identity, session_id: str) -> str:
        """Remove a session with all that was said in it; return its id."""
        name = parse_session_id(session_id)
        if not await self._store.delete(identity, name):
            raise _unknown(name)
        return name

    async def add(
        self, identity: Identity, session_id: str, said: Sequence[Said]
    ) -> tuple[Session, int]:
        """Add messages in order, all or none; return the session after it, and how many were new.

        The first ones make the session. A message whose id is there already is not added again.
        """
        name, now = parse_session_id(session_id), self._clock()
        messages: list[SessionMessage] = []
        for one in said:
            messages.append(message_of(one, now, self._new_id))
            await asyncio.sleep(0)  # a hundred long ones would hold up everybody else
        return await self._store.append(identity, name, messages, now)

    async def context(self, identity: Identity, session_id: str, budget: int) -> Told:
        """Return the last messages and the summaries before them that fit `budget` tokens.

        Messages of newer archives that have no summary (yet) count as if they were not archived.
        """
        session = await self.get(identity, session_id)
        waiting = await self._newest(identity, session.id, budget)
        archives = await self._store.archives(identity, session.id, _ARCHIVES_TOLD)
        bare = itertools.takewhile(lambda one: one.state is not ArchiveState.DONE, archives)
        messages = list(waiting)
        for archive in bare:
            if _tokens(messages) >= budget:
                break
            older = await self._store.archived(identity, session.id, archive.number)
            messages = _joined(older, messages)
        return Told(session, within(budget, messages, archives), archives)

    async def archives(
        self, identity: Identity, session_id: str
    ) -> tuple[Session, Sequence[Archive]]:
        """Return a session and all its archives, newest first."""
        session = await self.get(identity, session_id)
        return session, await self._store.archives(identity, session.id)

    async def archive(
        self, identity: Identity, session_id: str, archive_id: str
    ) -> tuple[Session, Archive, Sequence[SessionMessage]]:
        """Return a session, one of its archives, and the messages of that one, oldest first.

        Raises:
            NotFoundError: the session has no such archive.

        """
        session, archives = await self.archives(identity, session_id)
        for archive in archives:
            if archive.id == archive_id:
                said = await self._store.archived(identity, session.id, archive.number)
                return session, archive, said
        raise NotFoundError(
            f"session {session.id!r} has no archive {shown(archive_id)}",
            {"resource": archive_id, "type": "archive"},
        )

    async def recollect(
        self, identity: Identity, session_id: str, last: int = LAST_MESSAGES
    ) -> Conversation:
        """Return what a planner is told: a summary, and the last messages, archived or not.

        The summary is the overview of the newest archive; as long as that one has none, the
        abstracts of the ones before it. Of an id that no session has, nothing is told.
        """
        try:
            name = parse_session_id(session_id)
        except InvalidArgumentError:
            return Conversation()
        waiting = await self._store.pending(identity, name, last)
        archives = await self._store.archives(identity, name, _ABSTRACTS + 1)
        messages = list(waiting)
        for archive in archives:
            missing = last - len(messages)
            if missing <= 0:
                break
            older = await self._store.archived(identity, name, archive.number, missing)
            messages = _joined(older, messages)
        return Conversation(_summary(archives), tuple(messages))

    async def _newest(self, identity: Identity, name: str, budget: int) -> Sequence[SessionMessage]:
        """Return messages from the end: all that are pending, or more than the budget holds."""
        look = _FIRST_LOOK
        while True:
            found = await self._store.pending(identity, name, look)
            if len(found) < look or _tokens(found) > budget:
                return found
            look *= _STEP


def _joined(
    older: Sequence[SessionMessage], messages: Sequence[SessionMessage]
) -> list[SessionMessage]:
    """Return both; what was archived since `messages` were read is in both, and taken once."""
    before = (one for one in older if not messages or one.ordinal < messages[0].ordinal)
    return [*before, *messages]


def _summary(archives: Sequence[Archive]) -> str:
    told = summarised(archives)
    if told and told[0] is archives[0]:
        return told[0].overview
    return "\n".join(one.abstract for one in reversed(told) if one.abstract)


def _tokens(messages: Sequence[SessionMessage]) -> int:
    return sum(message.tokens for message in messages)


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f"no session {name!r}", {"resource": name, "type": "session"})
