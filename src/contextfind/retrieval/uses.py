"""How often records are used: counted behind the answers, outside the log."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import RecordId
from contextfind.ports import RecordStore

Count = Callable[[RecordId], None]  # told of a record whose text was read; never waits or fails

_log = logging.getLogger(__name__)

_PAUSE = (
    1.0  # seconds that uses are gathered: one small transaction in that time, however many reads
)
_MOST_WAITING = 10_000  # uses; more come only while the store is stuck, and are forgotten


def uncounted(record: RecordId) -> None:
    """Forget the use: for whoever reads without keeping count."""


class Uses:
    """Gathers the uses of records and hands them to the store in batches.

    A use is a body, abstract or overview that was read by its address, or given with a hit
    (`read_content`); to stand among the hits is none. What was gathered in the last second is lost with
    the process: a count that is a little low does no harm.
    """

    def __init__(self, store: RecordStore, pause: float = _PAUSE) -> None:
        self._store = store
        self._pause = pause
        self._waiting: list[RecordId] = []
        self._some = asyncio.Event()

    def count(self, record: RecordId) -> None:
        """Note one use; returns at once, whatever the store does."""
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.append(record)
            self._some.set()

    async def run(self) -> None:
        """Write down what was gathered, until cancelled."""
        while True:
            await self._some.wait()
            await asyncio.sleep(self._pause)
            await self.flush()

    async def flush(self) -> None:
        """Write down what was gathered so far; a store that refuses costs these counts only."""
        batch: Sequence[RecordId] = self._waiting
        self._waiting = []
        self._some.clear()
        if not batch:
            return
        try:
            await self._store.touch(batch)
        except UnavailableError as fault:
            _log.warning("%d uses of records were not counted: %s", len(batch), fault)
