"""At most so many at once, and whoever waits: the accounts take turns."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Gate:
    """Places for work, handed out to accounts; use from one event loop.

    An account holds at most `share` of the `places`. Whoever finds none waits in the queue of its
    account; a place that gets free goes to the account whose turn it is, and there to who came first.
    So an account with a thousand pieces of work delays the one piece of another by a few.
    """

    def __init__(self, places: int, share: int | None = None) -> None:
        self._free = places
        self._share = places if share is None else share
        self._held: dict[str, int] = {}
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # in the order of their turns

    @property
    def waiting(self) -> int:
        """How many wait for one."""
        return sum(map(len, self._queues.values()))

    def queue(self, account: str) -> int:
        """Return how many of an account wait."""
        return len(self._queues.get(account, ()))

    @asynccontextmanager
    async def passed(self, account: str) -> AsyncIterator[None]:
        """Hold a place inside, waiting for it first."""
        if not self.enter(account):
            await self.come(account)
        try:
            yield
        finally:
            self.leave(account)

    def enter(self, account: str) -> bool:
        """Take a place for an account, if there is one at once and none of it waits."""
        if account in self._queues or not self._fits(account):
            return False
        self._take(account)
        return True

    async def come(self, account: str) -> None:
        """Return when the account has one place more; `leave` must follow. May be cancelled."""
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(account, deque()).append(called)
        self._call()
        try:
            await called
        except asyncio.CancelledError:
            self._give_up(account, called)
            raise

    def leave(self, account: str) -> None:
        """Give a place back; whoever is next has it at once."""
        self._free += 1
        left = self._held[account] - 1
        if left:
            self._held[account] = left
        else:
            del self._held[account]
        if self._queues:
            self._call()

    def _fits(self, account: str) -> bool:
        return self._free > 0 and self._held.get(account, 0) < self._share

    def _take(self, account: str) -> None:
        self._free -= 1
        self._held[account] = self._held.get(account, 0) + 1

    def _call(self) -> None:
        """Give what is free to those who wait, one of each account in turn."""
        while (account := next(filter(self._fits, self._queues), None)) is not None:
            queue = self._queues.pop(account)
            called = queue.popleft()
            if queue:
                self._queues[account] = queue  # behind all others
            if not called.done():  # else it has just been given up
                called.set_result(None)
                self._take(account)

    def _give_up(self, account: str, called: asyncio.Future[None]) -> None:
        if not called.cancelled():  # it was called in the same moment
            self.leave(account)
            return
        queue = self._queues.get(account, deque())
        if called in queue:
            queue.remove(called)
            if not queue:
                del self._queues[account]
