"""Archives that wait for their summary or their memories, and what is done about it."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from contextfind.domain.conversation import Archive, ArchiveState, SessionMessage
from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import Identity
from contextfind.domain.session_ids import session_uri
from contextfind.ingestion.errands import Course
from contextfind.ingestion.gate import Gate
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.turns import Turns
from contextfind.ports import SessionStore
from contextfind.ports.company import Company, Solitude
from contextfind.sessions.extraction import Extraction
from contextfind.sessions.memory_files import memories_uri
from contextfind.sessions.summary import Summariser, Summary, helps_later

_log = logging.getLogger(__name__)

_LOOKED_AT = 100  # newest archives of a session among which those that wait are looked for
_RETRIED = 4  # archives of earlier commits that one job tries again; the rest come with the next
_AT_ONCE = 4  # archives that a model is asked about side by side, of all users together
# What stands in the `error` of an archive, a line each, whose summary is quoted or whose memories are
# missing, so that a later commit knows what to ask for.
_SUMMARY = "the model's summary is owed: "
_MEMORIES = "memories are owed: "
_LATER = "this is tried again in a while, and by the next commit"


class Extractor(Protocol):
    """What finds memories in archived messages."""

    async def extract(
        self,
        identity: Identity,
        session_id: str,
        archive: Archive,
        messages: Sequence[SessionMessage],
    ) -> Extraction:
        """Write the memories and return what came of it; once more changes nothing.

        Raises:
            UnavailableError: the model does not answer, or with nothing of use; or the store.

        """
        ...


@dataclass(frozen=True, slots=True)
class ArchiveDesk:
    """What archives are worked off with.

    extractor: None where no memories are looked for. extraction_seconds: the memories of one archive
        may take, beside what limits each call.
    """

    sessions: SessionStore
    summariser: Summariser
    settling: Settling
    extractor: Extractor | None
    extraction_seconds: float
    company: Company = field(default_factory=Solitude)


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one archive.

    note: what did not work, empty where all did. stalled: whether it is to be tried another time.
    """

    archive: Archive
    extraction: Extraction = field(default_factory=Extraction)
    note: str = ""
    stalled: bool = False


class Archivist:
    """Works off what waits in a session.

    Each archive is quoted first, so it has a summary while a model thinks, hangs or fails.
    """

    def __init__(self, desk: ArchiveDesk) -> None:
        self._desk = desk
        self._gate = Gate(_AT_ONCE)
        self._workers = Turns()
        self._readers = Turns()  # memories of a user are looked for in one archive at a time

    async def waiting(self, identity: Identity, session_id: str) -> list[Archive]:
        """Return archives that have no summary, or that a model owes something; oldest first."""
        archives = await self._desk.sessions.archives(identity, session_id, _LOOKED_AT)
        return [one for one in reversed(archives) if self._is_open(one)]

    async def quote_waiting(self, identity: Identity, session_id: str) -> list[Archive]:
        """Give each archive that has no summary a quoted one; return those, oldest first."""
        sessions = self._desk.sessions
        archives = await sessions.archives(identity, session_id, _LOOKED_AT)
        found: list[Archive] = []
        for archive in reversed(archives):
            if archive.state is ArchiveState.DONE:
                continue
            messages = await sessions.archived(identity, session_id, archive.number)
            before = [*found[::-1], *(one for one in archives if one.number < archive.number)]
            quoted = await self._desk.summariser.quoted(messages, before)
            told = replace(
                archive,
                state=ArchiveState.DONE,
                abstract=quoted.abstract,
                overview=quoted.overview,
                error=self._owed("not asked yet"),
            )
            await sessions.summarise(identity, session_id, told)
            found.append(told)
        return found

    async def work_off(self, identity: Identity, session_id: str, course: Course) -> list[Done]:
        """Summarise and find memories in what waits, new archives first; return each with its fate.

        As soon as the model does not answer, nothing more is asked of it. At one session one is at
        work at a time; who comes later finds what is left.
        """
        turn = self._workers.take(identity.account, session_uri(identity, session_id))
        try:
            await turn.come()
            async with self._desk.company.holding(
                "archives", identity.account, session_uri(identity, session_id)
            ):
                done = await self._work_off(identity, session_id, course)
        finally:
            self._workers.leave(turn)
        note = await self._settled(identity, done, course)
        return [*done[:-1], replace(done[-1], note=_joined(done[-1].note, note))] if done else []

    async def _work_off(self, identity: Identity, session_id: str, course: Course) -> list[Done]:
        await course.note("summarising")
        fresh = await self.quote_waiting(identity, session_id)
        open_ = await self.waiting(identity, session_id)
        numbers = {one.number for one in fresh}
        quoted = [
            one for one in open_ if one.state is ArchiveState.DONE
        ]  # others came just now, with a job
        earlier = [one for one in quoted if one.number not in numbers][:_RETRIED]
        done: list[Done] = []
        for at, archive in enumerate([*fresh, *earlier]):
            await course.note("summarising", at, len(fresh) + len(earlier))
            done.append(await self._finish(identity, session_id, archive))
            if done[-1].stalled:
                break
        await course.note("summarising", len(done), len(fresh) + len(earlier))
        left = [*fresh, *earlier][len(done) :]
        return [*done, *(Done(one) for one in left if one.number in numbers)]

    async def _finish(self, identity: Identity, session_id: str, archive: Archive) -> Done:
        """Ask for what the archive owes, and write down what came of it."""
        summary, left = Summary(archive.abstract, archive.overview), archive.error.splitlines()
        extraction, fault = Extraction(), None
        if not self._is_open(archive):
            return Done(archive)
        messages = await self._desk.sessions.archived(identity, session_id, archive.number)
        if self._desk.summariser.has_model and _debt(archive, _SUMMARY):
            left.remove(_debt(archive, _SUMMARY))
            summary = await self._written(identity, session_id, archive, messages)
            left += [_line(_SUMMARY, summary.fault)] * summary.try_again
        if self._desk.extractor is not None and _debt(archive, _MEMORIES):
            left.remove(_debt(archive, _MEMORIES))
            extraction, fault = await self._extracted(identity, session_id, archive, messages)
            left += [_line(_MEMORIES, str(fault))] * (fault is not None and helps_later(fault))
        final = replace(
            archive, abstract=summary.abstract, overview=summary.overview, error="\n".join(left)
        )
        await self._desk.sessions.summarise(identity, session_id, final, len(extraction.created))
        stalled = self._is_open(final)
        note = _joined(
            f"the summary is quoted: {summary.fault}" if summary.fault else "",
            "" if fault is None else f"memories are missing: {fault}",
            _LATER if stalled else "",
        )
        return Done(final, extraction, note, stalled)

    async def _written(
        self,
        identity: Identity,
        session_id: str,
        archive: Archive,
        messages: Sequence[SessionMessage],
    ) -> Summary:
        archives = await self._desk.sessions.archives(identity, session_id, _LOOKED_AT)
        before = [one for one in archives if one.number < archive.number]
        quoted = Summary(archive.abstract, archive.overview)
        async with self._gate.passed(identity.account):
            return await self._desk.summariser.written(messages, before, quoted)

    async def _extracted(
        self,
        identity: Identity,
        session_id: str,
        archive: Archive,
        messages: Sequence[SessionMessage],
    ) -> tuple[Extraction, UnavailableError | None]:
        """Return the memories, and why there are none."""
        seconds, extractor = self._desk.extraction_seconds, self._desk.extractor
        if extractor is None:
            return Extraction(), None
        turn = self._readers.take(identity.account, memories_uri(identity))
        try:
            await turn.come()  # not within the time: others may be long at theirs
            async with self._gate.passed(identity.account), asyncio.timeout(seconds):
                return await extractor.extract(identity, session_id, archive, messages), None
        except UnavailableError as fault:
            _log.warning("no memories from %s of %s: %s", archive.id, session_id, fault)
            return Extraction(), fault
        except TimeoutError:
            return Extraction(), UnavailableError(f"not finished within {seconds:g} s")
        finally:
            self._readers.leave(turn)

    async def _settled(self, identity: Identity, done: Sequence[Done], course: Course) -> str:
        """Return when the new memories can be found; a note where they cannot by meaning."""
        if not any(one.extraction.created or one.extraction.updated for one in done):
            return ""
        await course.note("embedding")
        place = memories_uri(identity)
        settled = await self._desk.settling.settle(identity.account, place, None, identity.user)
        return settled.note

    def _owed(self, why: str) -> str:
        owed = [_line(_SUMMARY, why)] * self._desk.summariser.has_model
        return "\n".join(owed + [_line(_MEMORIES, why)] * (self._desk.extractor is not None))

    def _is_open(self, archive: Archive) -> bool:
        """Whether something is missing that there is somebody to ask for."""
        summary = self._desk.summariser.has_model and _debt(archive, _SUMMARY)
        memories = self._desk.extractor is not None and _debt(archive, _MEMORIES)
        return archive.state is not ArchiveState.DONE or bool(summary or memories)


def _line(debt: str, why: str) -> str:
    return debt + " ".join(why.split())


def _debt(archive: Archive, kind: str) -> str:
    """Return the line that says this is owed, empty where it is not."""
    return next((line for line in archive.error.splitlines() if line.startswith(kind)), "")


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)
