"""What each session was shown lately, so that the next turns do not show it again.

Kept in memory: after a restart an agent may see once more what it was shown before, and that is all.
A turn is one assembled context of the session.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri

MOST_TURNS = 100  # that a caller may look back
_MOST_SESSIONS = (
    1_000  # remembered at once, those asked least lately are forgotten: some 75 MB at most
)
_MOST_ADDRESSES = 500  # of one session

_Key = tuple[str, str, str]


@dataclass
class _Page:
    """The turn a session is at, and at which turn each address was shown last, the oldest first."""

    turn: int = 0
    shown: OrderedDict[Uri, int] = field(default_factory=OrderedDict)


class Ledger:
    """Remembers by account, user and session: the sessions of others are never touched."""

    def __init__(
        self, most_sessions: int = _MOST_SESSIONS, most_addresses: int = _MOST_ADDRESSES
    ) -> None:
        self._pages: OrderedDict[_Key, _Page] = OrderedDict()
        self._most_sessions = most_sessions
        self._most_addresses = most_addresses

    def cooling(self, identity: Identity, session_id: str, turns: int) -> frozenset[Uri]:
        """Return what the last `turns` turns of the session showed."""
        page = self._pages.get(_key(identity, session_id))
        if page is None:
            return frozenset()
        return frozenset(uri for uri, turn in page.shown.items() if turn > page.turn - turns)

    def note(self, identity: Identity, session_id: str, uris: Iterable[Uri]) -> int:
        """End a turn that showed these addresses, and return its number, from 1."""
        key = _key(identity, session_id)
        page = self._pages.setdefault(key, _Page())
        self._pages.move_to_end(key)
        page.turn += 1
        for uri in uris:
            page.shown[uri] = page.turn
            page.shown.move_to_end(uri)
        while page.shown and (
            len(page.shown) > self._most_addresses
            or next(iter(page.shown.values())) <= page.turn - MOST_TURNS
        ):
            page.shown.popitem(last=False)
        while len(self._pages) > self._most_sessions:
            self._pages.popitem(last=False)
        return page.turn

    def forget(self, identity: Identity, session_id: str) -> None:
        """Drop what a session was shown: it is gone, and its id may be used anew."""
        self._pages.pop(_key(identity, session_id), None)


def _key(identity: Identity, session_id: str) -> _Key:
    return identity.account, identity.user, session_id
