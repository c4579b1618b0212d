"""Keeps the search index in step with the store's log."""

import asyncio
import logging

from contextfind.domain.errors import UnavailableError
from contextfind.ingestion.pulse import Pulse
from contextfind.ports import RecordStore, SearchIndex

_log = logging.getLogger(__name__)

_BATCH = 2_000  # changes per step: with 384-dimensional vectors some 5 MB, so memory stays flat
_RETRY_SECONDS = 1.0


class Follower:
    """Reads the log behind the index's position and hands it over, for as long as it runs."""

    def __init__(self, store: RecordStore, index: SearchIndex, pulse: Pulse) -> None:
        self._store = store
        self._index = index
        self._pulse = pulse
        self._caught_up = asyncio.Event()
        self._target = 0

    async def ready(self, patience: float) -> None:
        """Return when the index shows what was stored at start.

        Raises:
            UnavailableError: not within `patience` seconds.

        """
        if self._caught_up.is_set():
            return
        try:
            await asyncio.wait_for(self._caught_up.wait(), patience)
        except TimeoutError:
            there = await self._index.position()
            raise UnavailableError(
                f"the search index is being rebuilt: at {there} of {self._target} changes; "
                "try again in a moment",
                {"retryable": True},
            ) from None

    async def run(self) -> None:
        """Follow until cancelled."""
        self._target = await self._store.position()
        position = await self._index.position()
        while True:
            if position >= self._target:
                self._caught_up.set()
            changes = await self._store.changes(position, _BATCH)
            if not changes:
                self._pulse.beat()
                await self._store.wait_beyond(position)
                continue
            try:
                await self._index.follow(changes)
            except UnavailableError as fault:
                _log.warning("index does not follow, trying again: %s", fault)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            position = changes[-1].position
            self._pulse.beat()
