"""Waiting until what was written can be found, by words and by meaning."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from contextfind.domain.errors import UnavailableError
from contextfind.domain.uri import Uri
from contextfind.ingestion.embedding import EmbeddingWorker
from contextfind.ingestion.pulse import Pulse
from contextfind.ports import Backlog, RecordStore, SearchIndex
from contextfind.ports.reach import Reach

_LOOK_SECONDS = 1.0  # look again at the latest then, should a beat be missed


@dataclass(frozen=True, slots=True)
class Settled:
    """What is still open: texts without a vector, directories without a summary; `note` says why.

    0, 0 and an empty note: everything is searchable.
    """

    texts: int
    directories: int
    note: str


class Settling:
    """Lets a caller wait for the workers behind the requests.

    reach: of the log of a store that others work on too, so that an older state of it may be put back behind this process.
    """

    def __init__(
        self,
        store: RecordStore,
        index: SearchIndex,
        worker: EmbeddingWorker,
        pulse: Pulse,
        *,
        reach: Callable[[], Awaitable[Reach]] | None = None,
    ) -> None:
        self._store = store
        self._index = index
        self._worker = worker
        self._pulse = pulse
        self._reach = reach

    async def settle(
        self,
        account: str | None,
        under: Uri | None,
        timeout: float | None,  # noqa: ASYNC109 - ends with a report, not with an exception
        user: str | None = None,
        *,
        told: Callable[[int], None] | None = None,
    ) -> Settled:
        """Wait until all below an address (None = all of the account, or of the house) is searchable.

        user: not for what lies in the trees of other users; the numbers leave that out too.
        told: at every look, how many texts are left.
        Ends early with a note when the embedder does not answer: words are searchable by then.

        Raises:
            UnavailableError: the database lost what is waited for, as an older state of it was put back.

        """
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        while True:
            beats = self._pulse.beats
            backlog = await self._store.backlog(account, under, user)
            if told is not None:
                told(backlog.texts)
            failing = self._hopeless(backlog)
            waiting = backlog.directories or (backlog.texts and not failing)
            if not waiting:
                note = f"{backlog.texts} texts wait for the embedder: {failing}" if failing else ""
                if not await self._indexed(backlog.position, end):
                    note = note or f"not finished within {timeout:g} s; the index is being written"
                return Settled(backlog.texts, backlog.directories, note)
            left = _LOOK_SECONDS if end is None else min(end - loop.time(), _LOOK_SECONDS)
            if left <= 0:
                note = f"not finished within {timeout:g} s; the work goes on"
                return Settled(backlog.texts, backlog.directories, note)
            await self._pulse.wait(left, beats)

    async def followed(self, position: int, seconds: float) -> bool:
        """Wait until finds know what was committed at a position of the log; say whether they do; raises what `settle` does."""
        return await self._indexed(position, asyncio.get_running_loop().time() + seconds)

    def _hopeless(self, backlog: Backlog) -> str:
        """Return why the texts of a backlog will get no vectors soon, empty where they will, or are none."""
        worker = self._worker
        refusing = worker.refusing if worker.idle_at >= backlog.position else ""
        return worker.failing or refusing if backlog.texts else ""

    async def _indexed(self, target: int, end: float | None) -> bool:
        """Return when the index has come to a position of the log, or at `end`; say whether it has."""
        loop = asyncio.get_running_loop()
        while True:
            beats = self._pulse.beats
            if await self._shows(target):
                return True
            left = _LOOK_SECONDS if end is None else min(end - loop.time(), _LOOK_SECONDS)
            if left <= 0:
                return False
            await self._pulse.wait(left, beats)

    async def _shows(self, target: int) -> bool:
        """Return whether the index has come to a position, and not in a log that is no more."""
        position = await self._index.position()
        if self._reach is None:
            return position >= target
        log = await self._reach()  # later, for both may grow meanwhile
        if target not in log:
            raise UnavailableError(
                "what was written is lost: an older state of the database took its place meanwhile (a standby that "
                "lacked the last of it, or a restore); write it again",
                {"retryable": True},
            )
        return position >= target and position in log
