"""Commits of sessions on memory adapters: a committer, its model, and what finds memories."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.adapters.memory.sessions import MemorySessionStore
from contextfind.domain.conversation import Archive, SessionMessage
from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.settling import Settled, Settling
from contextfind.ports import Job, Message
from contextfind.sessions.archiving import ArchiveDesk, Archivist
from contextfind.sessions.commit import Committer
from contextfind.sessions.extraction import Extraction
from contextfind.sessions.retrying import Retrying
from contextfind.sessions.summary import Summariser, SummaryRules
from tests.builders import NOON, make_message
from tests.households import ANN

MEMORY = Uri("viking://user/ann/memories/facts/tea.md")
BROKEN = UnavailableError("stub answered 500: made to fail", {"status": 500, "retryable": True})
USELESS = UnavailableError("the model's answer holds no JSON", {"retryable": False})


@dataclass
class FakeChat:
    """Answers, fails with `fault`, or hangs while `hanging`."""

    name: str = "fake"
    fault: UnavailableError | None = None
    hanging: bool = False
    asked: list[str] = field(default_factory=list)

    async def complete(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        assert max_tokens == SummaryRules().max_tokens
        assert schema is not None
        self.asked.append(messages[1].text)
        if self.hanging:
            await asyncio.Event().wait()
        if self.fault is not None:
            raise self.fault
        return json.dumps({"abstract": "By the model.", "overview": "- by the model"})

    async def aclose(self) -> None:
        return


@dataclass
class FakeExtractor:
    """One memory of each archive whose messages were not seen before.

    fault: raised while it is set, so many times. pause: waited for before a memory is made.
    """

    fault: UnavailableError | None = None
    times: int = 1_000
    seen: list[tuple[str, str, list[str]]] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    hanging: bool = False
    pause: asyncio.Event | None = None

    async def extract(
        self,
        identity: Identity,
        session_id: str,
        archive: Archive,
        messages: Sequence[SessionMessage],
    ) -> Extraction:
        assert identity == ANN
        texts = [message.text for message in messages]
        self.seen.append((session_id, archive.id, texts))
        known = set(self.known)
        await asyncio.sleep(0)  # two at the same time would both know nothing
        if self.hanging:
            await asyncio.Event().wait()
        if self.fault is not None and self.times > 0:
            self.times -= 1
            raise self.fault
        if self.pause is not None:
            await self.pause.wait()
        if set(texts) <= known:
            return Extraction(updated=[MEMORY])
        self.known |= set(texts)
        return Extraction(created=[MEMORY], invalid=["memory 2 of the answer: no text"])


class StillSettling(Settling):
    """Is settled at once, and notes what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, Uri | None]] = []

    async def settle(
        self,
        account: str | None,
        under: Uri | None,
        timeout: float | None,  # noqa: ASYNC109
        user: str | None = None,
    ) -> Settled:
        assert (timeout, user) == (None, "ann")
        self.asked.append((account, under))
        return Settled(0, 0, "")


@dataclass
class Office:
    """A committer, and what it works with; `reopened` is the next process on the same data."""

    sessions: MemorySessionStore
    job_store: MemoryJobStore
    cpu: ThreadPoolExecutor
    chat: FakeChat | None
    extractor: FakeExtractor | None
    settling: StillSettling = field(default_factory=StillSettling)
    now: datetime = NOON
    waits: Sequence[float] = (60.0,)

    def __post_init__(self) -> None:
        self.numbers = iter(range(1_000))
        self.open()

    def open(self, seconds: float = 30.0) -> None:
        self.jobs = Jobs(self.job_store, lambda: self.now, self._id)
        rules = SummaryRules(seconds=seconds)
        desk = ArchiveDesk(
            self.sessions,
            Summariser(self.chat, rules, self.cpu),
            self.settling,
            self.extractor,
            seconds,
        )
        archivist = Archivist(desk)
        self.retrying = Retrying(archivist, self.jobs, lambda: self.now, self.waits)
        self.committer = Committer(
            self.sessions, archivist, self.retrying, self.jobs, lambda: self.now
        )
        self.jobs.take_on(self.committer)
        self.jobs.take_on(self.retrying)

    def _id(self) -> str:
        return f"job{next(self.numbers)}"

    async def say(self, *texts: str, session: str = "s1") -> None:
        before = await self.sessions.get(ANN, session)
        start = 0 if before is None else before.total_message_count
        said = [make_message(f"m{start + at}", text) for at, text in enumerate(texts)]
        await self.sessions.append(ANN, session, said, NOON)

    async def commit(self, session: str = "s1", keep: int = 0) -> Job:
        """Commit and wait for the end of the job."""
        committed = await self.committer.commit(ANN, session, keep)
        assert committed.job is not None, committed.reason
        return await self.jobs.finished(ANN, committed.job.id, 10)

    async def archives(self, session: str = "s1") -> Sequence[Archive]:
        """Return them, oldest first."""
        return (await self.sessions.archives(ANN, session))[::-1]


@asynccontextmanager
async def office(
    chat: FakeChat | None = None, extractor: FakeExtractor | None = None
) -> AsyncIterator[Office]:
    with ThreadPoolExecutor(1) as cpu:
        built = Office(MemorySessionStore(), MemoryJobStore(), cpu, chat, extractor)
        yield built
        await built.jobs.aclose()
