"""Keeps the search index in step with the store's log."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from contextfind.domain.errors import DamagedError, UnavailableError
from contextfind.domain.records import RecordId
from contextfind.ingestion.courtesy import Courtesy
from contextfind.ingestion.pulse import Pulse
from contextfind.ports import Change, RecordStore, SearchIndex
from contextfind.ports.company import Company
from contextfind.ports.index import handed_over
from contextfind.ports.reach import Reach

_log = logging.getLogger(__name__)

_BATCH = 2_000  # changes per step: with 384-dimensional vectors some 5 MB, so memory stays flat
_STEP = 100  # once it has caught up: some 30 ms of work
_BESIDE = 30  # while requests come: 10 ms, so that a search is not long in its company
_RETRY_SECONDS = 1.0
_RESIGNED_SECONDS = 30.0  # where trying again is of no use, but costs nothing
_WATCH_SECONDS = (
    0.02  # between two looks at an index that another process brings on: one small query each
)
# So long an index may stand still behind the log before a process that does not lead follows too: the one that does
# may hang, or have an index of another embedder. While a large batch is written, or a graph drawn, they wait in turn.
_PATIENCE_SECONDS = 15.0
_REST_SECONDS = 0.5  # at most, and never longer than the work before it took
# Between two looks, while nothing is written, whether a shared index still is of the same time as the log. A log that
# goes back is told at once; an index that was put back, or beside a part of the tables, is not.
_LOOK_SECONDS = 5.0

GoesOn = Callable[[], Awaitable[bool]]
Anew = Callable[[GoesOn], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Shared:
    """What is known of an index that several processes share.

    company: one of them follows, the others see the index move. reach: of the log; an index that stands elsewhere is of
    another time, and no process finds anything in it until it is built anew. anew: does that, unless it goes on by then (`reindexing.put_right`).
    """

    company: Company
    reach: Callable[[], Awaitable[Reach]]
    anew: Anew


class Follower:
    """Reads the log behind the index's position and hands it over, for as long as it runs.

    Once it has caught up it works half of the time at most: a single write is followed at once, and while many
    come they are followed together, which costs less, and leaves the other half to the searches.

    shared: None where the index is this process's own.
    """

    def __init__(
        self,
        store: RecordStore,
        index: SearchIndex,
        pulse: Pulse,
        courtesy: Courtesy | None = None,
        *,
        shared: Shared | None = None,
    ) -> None:
        self._store = store
        self._index = index
        self._pulse = pulse
        self._courtesy = courtesy or Courtesy()
        self._shared = shared
        self._astray = False  # the index is of a log that is no more
        self._caught_up = asyncio.Event()
        self._target = 0  # where the log stood at start
        self._there = 0
        self._fault = ""
        self._sent_back: set[RecordId] = set()
        self._still_since: float | None = None

    @property
    def standing(self) -> str:
        """`ok`, or one line of why finds miss what was stored.

        Changes of this moment do not count: there are always some while files are taken in.
        """
        if self._fault:
            return self._fault
        if self._caught_up.is_set():
            return "ok"
        return f"being rebuilt: at {self._there} of {self._target} changes"

    async def ready(self, patience: float) -> None:
        """Return when the index shows what was stored at start.

        Raises:
            UnavailableError: not within `patience` seconds.

        """
        if self._caught_up.is_set():
            return
        try:
            async with asyncio.timeout(patience):
                await self._caught_up.wait()
        except TimeoutError:
            raise UnavailableError(
                f"the search index is not there yet ({self.standing}); try again in a moment",
                {"retryable": True},
            ) from None

    async def run(self) -> None:
        """Follow until cancelled."""
        loop, begun = asyncio.get_running_loop(), False
        while True:
            began = loop.time()
            try:
                begun = begun or await self._begin()
                if self._there >= self._target and not self._astray:
                    self._caught_up.set()
                moved = await self._step()
            except UnavailableError as fault:
                said = f"does not follow: {fault}"
                if said != self._fault:
                    _log.warning("index does not follow, trying again: %s", fault)
                self._fault = said
                damaged = isinstance(fault, DamagedError)
                if damaged and not self._astray:  # it will not: what is there is all there is
                    self._caught_up.set()
                await asyncio.sleep(_RESIGNED_SECONDS if damaged else _RETRY_SECONDS)
                continue
            self._fault = ""
            self._pulse.beat()
            if moved and self._caught_up.is_set():
                await asyncio.sleep(min(loop.time() - began, _REST_SECONDS))
            elif not moved:
                await self._more()

    async def _begin(self) -> bool:
        """Learn where the log and the index stand."""
        self._target = await self._store.position()
        self._there = await self._index.position()
        return True

    async def _more(self) -> None:
        """Return when there is more to follow, or it is time to look whether index and log still belong together."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self._shared is None else _LOOK_SECONDS):
                await self._store.wait_beyond(self._there)

    @property
    def _most(self) -> int:
        """How many changes to hand over at once."""
        if not self._caught_up.is_set():
            return _BATCH
        return _BESIDE if self._courtesy.has_guests else _STEP

    async def _step(self) -> bool:
        """Hand over one batch; return whether there was one."""
        if self._caught_up.is_set():
            await self._courtesy.give_way()
        if self._shared is not None:
            before = self._there
            log = await self._looked(self._shared)
            if not self._fits(log):
                await self._begin_anew(self._shared)
                return True
            if not (await self._shared.company.leads() or self._stands_still(before, log.last)):
                return await self._watched(before)
        changes = await self._store.changes(self._there, self._most)
        if changes:
            await self._hand_over(changes)
            self._there = changes[-1].position
        return bool(changes)

    async def _looked(self, shared: Shared) -> Reach:
        """Learn where the index stands, and return the log's reach: later, for both may grow meanwhile."""
        self._there = await self._index.position()
        return await shared.reach()

    def _fits(self, log: Reach) -> bool:
        return self._there == 0 or self._there in log

    async def _begin_anew(self, shared: Shared) -> None:
        """Have no finds until the index is of this log again.

        Ids that it knows may be given to other records by now. (A find that is under way shows none of those: what
        the store gives for a hit must be what was found.)
        """

        async def goes_on() -> bool:
            return self._fits(await self._looked(shared))

        self._fault = f"the index stands at change {self._there}, which the database does not know: it is built anew"
        if not self._astray:
            _log.warning("an older state of the database was put back: %s", self._fault)
        self._astray = True
        self._caught_up.clear()
        await shared.anew(goes_on)
        if not await goes_on():
            raise UnavailableError(f"{self._fault}; run: contextfind reindex")
        self._astray = False
        await self._begin()

    def _stands_still(self, before: int, end: int) -> bool:
        """Return whether the index should have moved long ago."""
        now = asyncio.get_running_loop().time()
        if self._there != before or end <= self._there:
            self._still_since = None
            return False
        if self._still_since is None:
            self._still_since = now
        return now - self._still_since > _PATIENCE_SECONDS

    async def _watched(self, before: int) -> bool:
        """Return whether another process has brought the index on; not at once when it is to do so."""
        if self._still_since is not None:
            await asyncio.sleep(_WATCH_SECONDS)
        return self._there > before

    async def _hand_over(self, changes: Sequence[Change]) -> None:
        """Have changes followed; vectors that are damaged are made anew.

        Once for each record: an embedder that gives the like again is not asked for ever.
        """
        refused = await handed_over(self._index, changes)
        again = [record for record in refused if record not in self._sent_back]
        if again:
            _log.warning("repaired: damaged vectors of %d records are made anew", len(again))
            self._sent_back.update(again)
            await self._store.embed_again(again)
