"""Conversations, durably; each belongs to one user of one account."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from contextfind.domain.conversation import Archive, Session, SessionMessage
from contextfind.domain.identity import Identity


class SessionStore(Protocol):
    """Sessions, their messages and archives.

    Each method sees only the sessions of the identity's account and user, whatever its role: another
    one's session is as if it were not there, and the same id may be used by several. Whether the user
    is known, or was removed, is not asked. Every method is one transaction: what it returned is
    durable, and what raised left nothing. No method grows slower with the number of messages that are
    archived, nor with other sessions; `archived` and `delete` take as long as what they touch is large.

    `limit`, `offset` and `keep` are not negative; times are aware. Settings, parts and extra come back
    as JSON reads them (tuples as lists). NUL is kept; a lone surrogate comes back as a question mark,
    in ids too.
    """

    async def create(
        self, identity: Identity, session_id: str, settings: Mapping[str, object], now: datetime
    ) -> bool:
        """Make an empty session; False, and nothing is changed, when there is one with this id."""
        ...

    async def get(self, identity: Identity, session_id: str) -> Session | None:
        """Return the session with its counts, None when there is none."""
        ...

    async def configure(
        self, identity: Identity, session_id: str, settings: Mapping[str, object]
    ) -> Session | None:
        """Put these settings beside the others, or in the place of those of the same names.

        Return the session after it, None when there is none; `updated_at` stays.
        """
        ...

    async def list(self, identity: Identity, limit: int, offset: int = 0) -> Sequence[Session]:
        """Return sessions, the last changed one first, ties by id."""
        ...

    async def delete(self, identity: Identity, session_id: str) -> bool:
        """Remove the session with all messages and archives; False when there is none."""
        ...

    async def append(
        self, identity: Identity, session_id: str, messages: Sequence[SessionMessage], now: datetime
    ) -> tuple[Session, int]:
        """Add messages at the end, in order; return the session after it, and how many were new.

        An unknown session is made, without settings, also when there is no message. A message whose id
        the session holds already, archived or not, or that came earlier in the same call, is left out.
        When nothing was new the session is as before. `ordinal` of the given ones is ignored.
        """
        ...

    async def pending(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[SessionMessage]:
        """Return the last `limit` messages that are not archived (None: all), oldest first."""
        ...

    async def archive(
        self, identity: Identity, session_id: str, keep: int, now: datetime
    ) -> Archive | None:
        """Put all pending messages but the last `keep` into a new archive, state PENDING.

        None, and nothing is changed, when there is none to be archived or no such session. Counts one
        commit.
        """
        ...

    async def archives(
        self, identity: Identity, session_id: str, limit: int | None = None
    ) -> Sequence[Archive]:
        """Return the newest `limit` archives (None: all), newest first."""
        ...

    async def archived(
        self, identity: Identity, session_id: str, number: int, limit: int | None = None
    ) -> Sequence[SessionMessage]:
        """Return the last `limit` messages of an archive (None: all), oldest first; none for an unknown one."""
        ...

    async def summarise(
        self, identity: Identity, session_id: str, archive: Archive, memories: int = 0
    ) -> None:
        """Write state, abstract, overview and error of the archive with this number.

        memories: how many were extracted from it, added to the session's count. A session or archive
        that is gone meanwhile is left gone; an archive of this number that has other messages or
        another time, made after the session was deleted, is left alone. `updated_at` stays.
        """
        ...
