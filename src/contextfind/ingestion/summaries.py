"""Keeps the summaries of directories (L0, L1) true, from the leaves up to the scope root."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from contextfind.domain.errors import (
    ConflictError,
    ContextFindError,
    DamagedError,
    InvalidArgumentError,
    UnavailableError,
)
from contextfind.domain.records import Level, Record
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ingestion.author import SummaryAuthor
from contextfind.ingestion.drafting import Drafted, draft_directory
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.summarising import ChildNote
from contextfind.ingestion.writing import Desk
from contextfind.ports import Commit, StaleDirectory

_log = logging.getLogger(__name__)

_BATCH = 64  # directories per step, where no model is waited for
_MANY = 16  # of them; fewer are not worth another process
_RETRY_SECONDS = 1.0
_RESIGNED_SECONDS = 30.0  # where trying again is of no use, but costs nothing
_LOOK_SECONDS = 1.0  # look again at the latest then, should a beat be missed


class SummaryWorker:
    """Writes the summaries that the store calls stale, deepest first.

    A directory whose abstract changed makes its parent stale in the same commit, so a change
    bubbles up exactly as far as it matters, and a crash loses none of it. With an author the model
    writes them, one call per directory whose children say something new; what it was told is kept
    as a digest (`Record.source` of the overview), so the same is never asked twice. What the model
    does not answer is quoted from the children at once.
    """

    def __init__(self, desk: Desk, pulse: Pulse, author: SummaryAuthor | None = None) -> None:
        self._desk = desk
        self._pulse = pulse
        self._author = author
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
        said = ""
        while True:
            await self._calm.wait()
            beats = self._desk.written.beats
            try:
                await self._desk.courtesy.give_way()
                position = await self._desk.store.position()
                busy = await self._step()
            # A full disk, say, or a file where a directory was: what is a directory stays stale.
            except (UnavailableError, ConflictError) as fault:
                if str(fault) != said:  # a log that grows every second helps no full disk
                    said = str(fault)
                    _log.warning("summaries cannot be written, trying again: %s", said)
                damaged = isinstance(fault, DamagedError)
                await asyncio.sleep(_RESIGNED_SECONDS if damaged else _RETRY_SECONDS)
                continue
            said = ""
            if not busy:
                await self._more(position, beats)

    async def _step(self) -> bool:
        """Summarise the deepest stale directories; return whether there were any."""
        await self._try_again()
        batch = self._author.at_once if self._author else _BATCH
        stale = await self._desk.store.stale(batch)
        if stale:
            deepest = len(stale[0].uri.segments)  # a parent waits for its children's texts
            ready = [one for one in stale if len(one.uri.segments) == deepest]
            for account in sorted({one.account for one in ready}):
                await self._summarise_all([one for one in ready if one.account == account])
        self._pulse.beat()
        return bool(stale)

    async def _summarise_all(self, directories: Sequence[StaleDirectory]) -> None:
        """Summarise directories of one account together; each alone where one of them cannot be.

        A summary that cannot be drafted is a fault of ours; nobody else shall wait for it.
        """
        try:
            await self._summarise(directories)
        except (DamagedError, InvalidArgumentError) as fault:
            if len(directories) == 1:
                await self._pass_over(directories[0], fault)
                return
            for one in directories:
                await self._summarise_all([one])

    async def _try_again(self) -> None:
        """Mark directories that the model owes a text, and may be asked about now, as stale."""
        for account, uri in self._author.due() if self._author else ():
            await self._desk.commit(Commit(account, self._desk.clock(), stale=(uri,)))

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
        written = await self._drafts(directories)
        with desk.blobs.filing():
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

    async def _pass_over(self, directory: StaleDirectory, fault: ContextFindError) -> None:
        """Leave the summary of a directory as it is, so that nobody waits for what will not come."""
        account, address = directory.account, directory.uri.text
        _log.error("account %s: an old summary stays at %s: %s", account, address, fault)
        await self._desk.commit(Commit(account, self._desk.clock(), fresh=(directory,)))

    async def _drafts(self, directories: Sequence[StaleDirectory]) -> list["_Summary"]:
        """Return what is to be written, in order; the first failure stops the others."""
        try:
            async with asyncio.TaskGroup() as group:
                many = len(directories) >= _MANY
                tasks = [group.create_task(self._draft(one, many=many)) for one in directories]
        except ExceptionGroup as failures:
            failure = failures.exceptions[0]
        else:
            return [task.result() for task in tasks]
        raise failure

    async def _draft(self, directory: StaleDirectory, *, many: bool) -> "_Summary":
        desk, uri = self._desk, directory.uri
        scope = Scope(directory.account, uri.owner, (ROOT,))
        children = await desk.store.children(scope, uri)
        old = await desk.store.at(scope, uri)
        if not children and old and not any(record.content for record in old):
            return _UNCHANGED  # nothing was ever in it: it keeps the description it was made with
        notes = [ChildNote(child.name, child.abstract, not child.is_leaf) for child in children]
        digest = self._author.digest(uri.name, notes) if self._author else ""
        if digest and digest == _told(old):
            return _UNCHANGED
        place = (directory.account, uri)
        written = await self._author.write(place, notes) if self._author and digest else None
        draft = partial(draft_directory, uri, notes, desk.rules, written)
        drafted = await (desk.in_bulk(draft) if many else desk.off_loop(draft))
        if not _changed(drafted, old):
            return _UNCHANGED
        return _Summary(drafted, uri.ancestors()[:1] if _abstract_changed(drafted, old) else ())


@dataclass(frozen=True, slots=True)
class _Summary:
    drafted: Drafted
    above: tuple[Uri, ...]  # the parent, when it quotes an abstract that changed


_UNCHANGED = _Summary(Drafted((), ()), ())


def _changed(drafted: Drafted, old: Sequence[Record]) -> bool:
    before = {record.level: (record.abstract, record.content, record.source) for record in old}
    return any(before.get(d.level) != (d.abstract, d.content, d.source) for d in drafted.drafts)


def _told(old: Sequence[Record]) -> str:
    """Return the digest of what the author was told for the summary that is there."""
    return next((record.source for record in old if record.level is Level.OVERVIEW), "")


def _abstract_changed(drafted: Drafted, old: Sequence[Record]) -> bool:
    before = [record.abstract for record in old if record.level is Level.ABSTRACT]
    return before != [d.abstract for d in drafted.drafts if d.level is Level.ABSTRACT]
