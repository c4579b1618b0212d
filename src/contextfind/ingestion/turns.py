"""Work on overlapping parts of the tree happens in the order in which it was asked for."""

import asyncio
from dataclasses import dataclass, field

from contextfind.domain.uri import Uri


@dataclass(slots=True, eq=False)
class Turn:
    """A place in the queue for one part of the tree."""

    account: str
    root: Uri
    before: tuple["Turn", ...]
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def come(self) -> None:
        """Return when everybody who was there before has left."""
        for other in self.before:
            await other.done.wait()


class Turns:
    """Hands out places; use from one event loop."""

    def __init__(self) -> None:
        self._taken: list[Turn] = []

    def take(self, account: str, root: Uri) -> Turn:
        """Return a place behind all that touch the same addresses; `leave` must follow."""
        before = tuple(
            turn
            for turn in self._taken
            if turn.account == account and (turn.root.is_under(root) or root.is_under(turn.root))
        )
        turn = Turn(account, root, before)
        self._taken.append(turn)
        return turn

    def leave(self, turn: Turn) -> None:
        """Let the next one come; again is harmless."""
        turn.done.set()
        if turn in self._taken:
            self._taken.remove(turn)
