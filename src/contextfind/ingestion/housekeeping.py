"""Taking away what deletes and updates leave behind, when nobody writes."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np

from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import RecordId
from contextfind.ports.housekeeping import BlobNames, BlobSweep, Chore, NameKeys, Swept

_log = logging.getLogger(__name__)

_RECORDS = 500  # whose names are read at once: 1 ms of the interpreter, which a find may wait for
_SHELVES = 16  # looked at in one step, where nothing is to be taken away
_BREATH = 0.02  # seconds between two steps: whoever came meanwhile goes first
_PATIENCE = 120  # quiet times that a round waits for pauses; then it goes on beside whoever writes
_REST = 12  # quiet times between two rounds: of a minute, one over a million records takes 3 s
_DAY = 86_400.0  # seconds until the next round where nobody writes: some things go by their age

Sleep = Callable[[float], Awaitable[None]]


async def _nobody() -> None:
    """Give way to nobody."""


async def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Hours:
    """When rounds are made: `writes` counts those of others, `quiet` seconds without any are a pause.

    give_way: returns when nobody is being answered, or soon. leads: whether it is this process that tidies up for all.
    """

    writes: Callable[[], int]
    quiet: float
    timer: Callable[[], float]
    sleep: Sleep = asyncio.sleep
    give_way: Callable[[], Awaitable[None]] = _nobody
    leads: Callable[[], Awaitable[bool]] = _always


class Housekeeper:
    """Does the chores, one after the other, each in small steps, after there was something to write.

    A round begins, and goes on after each step, when nobody has written for `quiet` seconds. It waits for that
    120 times as long, all in all, and goes on all the same then. It may be cancelled at any moment.
    """

    def __init__(self, chores: Sequence[Chore], hours: Hours) -> None:
        self._chores = chores
        self._hours = hours
        self._seen = -1  # the first round is for what a former process left
        self._patience = _PATIENCE

    async def run(self) -> None:
        """Make rounds until cancelled."""
        while True:
            self._patience = _PATIENCE
            await self._due()
            self._seen = self._hours.writes()
            if await self._hours.leads():
                for chore in self._chores:
                    await self._do(chore)
            await self._hours.sleep(self._hours.quiet * _REST)

    async def _do(self, chore: Chore) -> None:
        swept = Swept()
        try:
            async with aclosing(chore.steps()) as steps:
                async for step in steps:
                    swept += step
                    await self._breathe()
        except UnavailableError as fault:
            _log.warning("tidying up is left for later: %s: %s", chore.things, fault)
        if swept != Swept():
            _log.info("tidied up: %s (%d, %d bytes)", chore.things, swept.things, swept.bytes)

    async def _due(self) -> None:
        """Return when there was a write since the last round, or a day went by, and nobody writes."""
        hours = self._hours
        begun = hours.timer()
        while hours.writes() == self._seen and hours.timer() - begun < _DAY:
            await hours.sleep(hours.quiet)
        await self._quiet()

    async def _breathe(self) -> None:
        """Let others go first; somebody who writes has the house for himself."""
        before = self._hours.writes()
        await self._hours.sleep(_BREATH)
        await self._hours.give_way()
        if self._hours.writes() != before:
            await self._quiet()

    async def _quiet(self) -> None:
        """Return when nobody has written for a while, or when this round has waited long enough."""
        while self._patience > 0:
            self._patience -= 1
            before = self._hours.writes()
            await self._hours.sleep(self._hours.quiet)
            if self._hours.writes() == before:
                return


async def done(chore: Chore) -> Swept:
    """Do all of a chore now, without pauses, and return what it has taken away; raises what its steps do."""
    swept = Swept()
    async with aclosing(chore.steps()) as steps:
        async for step in steps:
            swept += step
    return swept


class LooseBlobs:
    """The chore of removing blobs that no record names any more, or ever named.

    A blob is put first, every time, also when it is there already, and named by a commit within the same filing. So
    what is put after the beginning is let alone, and all else is named, once the filings open then are closed, or
    never will be.

    grace: seconds that a reader may need between a record and its blob.
    """

    def __init__(
        self, names: BlobNames, blobs: BlobSweep, grace: float, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._names = names
        self._blobs = blobs
        self._grace = grace
        self._sleep = sleep

    @property
    def chore(self) -> Chore:
        """What there is to do."""
        return Chore("loose blobs", self._steps)

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        try:
            await self._blobs.watch()
            await self._names.settle()  # a caller that gave up may have left its commit behind
            named: list[NameKeys] = [np.array([], np.uint64)]
            after = RecordId(0)
            while True:
                records, keys = await self._names.named(after, _RECORDS)
                if not records:
                    break
                after = records[-1]
                named.append(keys)
                yield Swept()
            wanted = np.unique(np.concatenate(named))
            await self._sleep(self._grace)  # who read a record before it changed has its blob now
            for number, shelf in enumerate(self._blobs.shelves):
                swept = await self._blobs.sweep(shelf, wanted)
                if swept != Swept() or number % _SHELVES == 0:
                    yield swept
        finally:
            self._blobs.rest()
