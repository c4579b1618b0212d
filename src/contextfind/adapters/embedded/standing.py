"""An index that can be built anew beside itself, while it answers."""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.shelf import ASIDE
from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import RecordId
from contextfind.ports.hits import Hits
from contextfind.ports.index import ChangeLog, Dialogue, Probe, Result, Step, handed_over
from contextfind.ports.store import Change

_log = logging.getLogger(__name__)

# Changes in one step, after which finds go first. The follower takes 2,000 while nobody can be answered yet; here
# somebody is. Of 45,000 passages 200 at once cost 4.7 s and 120 ms at the worst, 2,000 cost 3.9 s and 390 ms.
_BATCH = 200
_BESIDE = ".new"

Opening = Callable[[Path], Awaitable[EmbeddedIndex]]


class StandingIndex:
    """`RebuildableIndex` over one `EmbeddedIndex` after the other; made by `open`."""

    def __init__(self, directory: Path, opening: Opening, index: EmbeddedIndex) -> None:
        self._directory = directory
        self._opening = opening
        self._index = index
        self._building = asyncio.Lock()  # one at a time
        self._following = (
            asyncio.Lock()
        )  # nobody goes on while one index takes the place of another
        self._changing = False  # what lies in the directory is not what answers
        self._handing_over: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, directory: Path, opening: Opening) -> "StandingIndex":
        """Return the index that lies in a directory, opened; what a crash left beside it is removed."""
        for left in (_beside(directory), directory.with_name(directory.name + ASIDE)):
            await asyncio.to_thread(shutil.rmtree, left, ignore_errors=True)
        return cls(directory, opening, await opening(directory))

    async def search(self, probes: Sequence[Probe]) -> Sequence[Hits]:
        """See `SearchIndex.search`."""
        return await self._index.search(probes)

    async def converse(self, dialogue: Dialogue[Result]) -> Result:
        """See `SearchIndex.converse`."""
        return await self._index.converse(dialogue)

    async def explain(self, probes: Sequence[Probe]) -> Sequence[str]:
        """See `SearchIndex.explain`."""
        return await self._index.explain(probes)

    async def position(self) -> int:
        """See `SearchIndex.position`."""
        return await self._index.position()

    async def kept(self) -> int:
        """See `EmbeddedIndex.kept`; 0 while another index is being built, which needs all of the log."""
        return 0 if self._changing else self._index.kept

    async def follow(self, changes: Sequence[Change]) -> None:
        """See `SearchIndex.follow`."""
        async with self._following:
            await self._index.follow(changes)

    async def tidy(self) -> int:
        """See `EmbeddedIndex.tidy`."""
        return await self._index.tidy()

    async def rest(self) -> None:
        """See `EmbeddedIndex.rest`."""
        await self._index.rest()

    def stats(self) -> dict[str, int]:
        """See `EmbeddedIndex.stats`."""
        return self._index.stats()

    async def rebuild(self, log: ChangeLog, step: Step) -> Sequence[RecordId]:
        """See `RebuildableIndex.rebuild`."""
        async with self._building:
            await self._come_home()
            self._changing = True
            try:
                fresh = await self._begun()
            except BaseException:
                self._changing = False
                raise
            try:
                refused = await self._catch_up(fresh, log, step)
                await fresh.rest()  # merged and with its graphs: nobody's finds get slower by it
                async with self._following:
                    refused += await self._catch_up(fresh, log, step)
                    before, self._index = self._index, fresh
            except BaseException:
                await self._give_up(fresh)
                raise
            self._handing_over = asyncio.create_task(self._hand_over(before, fresh))
            await asyncio.shield(self._handing_over)
            return refused

    async def aclose(self) -> None:
        """See `SearchIndex.aclose`."""
        if self._handing_over is not None:
            await asyncio.wait([self._handing_over])
        await self._index.aclose()

    async def _come_home(self) -> None:
        """Let what answers lie in the directory, in case it could not when it was built: its place is needed.

        Raises:
            UnavailableError: it still cannot, and goes on where it is.

        """
        if self._handing_over is not None:  # of somebody who was cancelled
            await asyncio.wait([self._handing_over])
        if not self._changing:
            return
        try:
            await self._index.move(self._directory)
        except OSError as error:
            raise UnavailableError(
                f"the disk does not let the search index that was built last take its place: {error}",
                {"retryable": True},
            ) from error
        self._changing = False

    async def _begun(self) -> EmbeddedIndex:
        beside = _beside(self._directory)
        await asyncio.to_thread(shutil.rmtree, beside, ignore_errors=True)
        return await self._opening(beside)

    async def _catch_up(self, fresh: EmbeddedIndex, log: ChangeLog, step: Step) -> list[RecordId]:
        """Follow the log until the new index knows all that the old one does."""
        refused: list[RecordId] = []
        there = await fresh.position()
        while there < await self._index.position():
            changes = await log(there, _BATCH)
            if not changes:
                break
            refused += await handed_over(fresh, changes)
            there = changes[-1].position
            await step(there)
        return refused

    async def _give_up(self, fresh: EmbeddedIndex) -> None:
        await fresh.abandon()
        await asyncio.to_thread(shutil.rmtree, _beside(self._directory), ignore_errors=True)
        self._changing = False

    async def _hand_over(self, before: EmbeddedIndex, fresh: EmbeddedIndex) -> None:
        """Close the old index when its last search has ended, and let the new one lie in its place."""
        await before.abandon()
        try:
            await fresh.move(self._directory)
        except OSError as error:
            _log.warning(
                "the new search index stays where it was built until the next one is, or the next start: %s",
                error,
            )
            return
        self._changing = False
        with suppress(OSError):
            await fresh.tidy()  # has it written down


def _beside(directory: Path) -> Path:
    return directory.with_name(directory.name + _BESIDE)
