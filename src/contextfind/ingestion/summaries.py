"""Keeps the summaries of directories (L0, L1) true, from the leaves up to the scope root."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from contextfind.domain.errors import ConflictError, UnavailableError
from contextfind.domain.records import Level, Record
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ingestion.drafting import Drafted, draft_directory
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.writing import Desk
from contextfind.ports import Commit, StaleDirectory

_log = logging.getLogger(__name__)

_BATCH = 64  # directories per step
_RETRY_SECONDS = 1.0
_LOOK_SECONDS = 1.0  # look again at the latest then, should a beat be missed


class SummaryWorker:
    """Writes the summaries that the store calls stale, deepest first.

    A directory whose abstract changed makes its parent stale in the same commit, so a change
    bubbles up exactly as far as it matters, and a crash loses none of it.
    """

    def __init__(self, desk: Desk, pulse: Pulse) -> None:
        self._desk = desk
        self._pulse = pulse
        self._ingests = 0
        self._calm = asyncio.Event()
        self._calm.set()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hold back while many files arrive: each directory is summarised once, at the end."""
        self._ingests += 1
        self._calm.clear()
        try:
            yield
        finally:
            self._ingests -= 1
            if self._ingests == 0:
                self._calm.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._calm.wait()
            beats = self._desk.written.beats
            try:
                position = await self._desk.store.position()
                if await self._step():
                    continue
            # A full disk, say, or a file where a directory was: what is a directory stays stale.
            except (UnavailableError, ConflictError) as fault:
                _log.warning("summaries cannot be written, trying again: %s", fault)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            await self._more(position, beats)

    async def _step(self) -> bool:
        """Summarise the deepest stale directories; return whether there were any."""
        stale = await self._desk.store.stale(_BATCH)
        if stale:
            deepest = len(stale[0].uri.segments)  # a parent waits for its children's texts
            ready = [one for one in stale if len(one.uri.segments) == deepest]
            for account in sorted({one.account for one in ready}):
                await self._summarise([one for one in ready if one.account == account])
        self._pulse.beat()
        return bool(stale)

    async def _more(self, position: int, beats: int) -> None:
        """Return when a directory may have become stale: with or without a log entry."""
        waits: tuple[asyncio.Future[Any], ...] = (
            asyncio.ensure_future(self._desk.store.wait_beyond(position)),
            asyncio.ensure_future(self._desk.written.wait(_LOOK_SECONDS, beats)),
        )
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        for one in done:
            one.result()

    async def _summarise(self, directories: Sequence[StaleDirectory]) -> None:
        """Bring directories of one account up to date in one commit.

        What was removed or marked again meanwhile is passed over by the store: `Commit.fresh`.
        """
        desk = self._desk
        written = [await self._draft(directory) for directory in directories]
        await desk.blobs.put([blob for one in written for blob in one.drafted.blobs])
        await desk.commit(
            Commit(
                directories[0].account,
                desk.clock(),
                put=tuple(draft for one in written for draft in one.drafted.drafts),
                fresh=tuple(directories),
                stale=tuple(up for one in written for up in one.above),
            )
        )

    async def _draft(self, directory: StaleDirectory) -> "_Summary":
        desk, uri = self._desk, directory.uri
        scope = Scope(directory.account, uri.owner, (ROOT,))
        children = await desk.store.children(scope, uri)
        old = await desk.store.at(scope, uri)
        if not children and old and not any(record.content for record in old):
            return _UNCHANGED  # nothing was ever in it: it keeps the description it was made with
        drafted = await desk.off_loop(lambda: draft_directory(uri, children, desk.rules))
        if not _changed(drafted, old):
            return _UNCHANGED
        return _Summary(drafted, uri.ancestors()[:1] if _abstract_changed(drafted, old) else ())


@dataclass(frozen=True, slots=True)
class _Summary:
    drafted: Drafted
    above: tuple[Uri, ...]  # the parent, when it quotes an abstract that changed


_UNCHANGED = _Summary(Drafted((), ()), ())


def _changed(drafted: Drafted, old: Sequence[Record]) -> bool:
    before = {record.level: (record.abstract, record.content) for record in old}
    return any(before.get(d.level) != (d.abstract, d.content) for d in drafted.drafts)


def _abstract_changed(drafted: Drafted, old: Sequence[Record]) -> bool:
    before = [record.abstract for record in old if record.level is Level.ABSTRACT]
    return before != [d.abstract for d in drafted.drafts if d.level is Level.ABSTRACT]
