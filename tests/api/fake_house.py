"""A house of plain fakes: it remembers what it was asked and answers what it was told to."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import BinaryIO

from contextfind.adapters.memory.identities import MemoryIdentityStore
from contextfind.adapters.memory.sessions import MemorySessionStore
from contextfind.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    DeadlineExceededError,
    InvalidArgumentError,
    NotFoundError,
)
from contextfind.domain.figures import Figure, gauge
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion, QueryPlan, TypedQuery
from contextfind.domain.records import ContextType
from contextfind.domain.results import FindResult
from contextfind.domain.uri import ROOT, Uri
from contextfind.ingestion.adding import AddRequest
from contextfind.ingestion.settling import Settled
from contextfind.ingestion.writing import WriteMode, Written
from contextfind.ports import Committed as Commitment
from contextfind.ports import Job, JobState, Key, Move, Retag
from contextfind.retrieval.browsing import Entry, Listing
from contextfind.retrieval.matching import Lines, Paths
from contextfind.server.auth import digest_of
from contextfind.sessions.commit import Committed
from contextfind.sessions.conversations import Conversations

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class FakeFinder:
    def __init__(self) -> None:
        self.asked: list[tuple[RequestContext, FindQuestion]] = []
        self.answer = FindResult((), (), ())
        self.fault: BaseException | None = None
        self.seconds = 0.0

    async def find(self, context: RequestContext, question: FindQuestion) -> FindResult:
        self.asked.append((context, question))
        await asyncio.sleep(self.seconds)
        if self.fault is not None:
            raise self.fault
        return self.answer

    @property
    def question(self) -> FindQuestion:
        return self.asked[-1][1]


class FakeSearcher:
    def __init__(self, finder: FakeFinder) -> None:
        self.finder = finder
        self.sessions: list[str] = []
        self.plan = QueryPlan((TypedQuery("x", ContextType.SKILL, "learn", 2),), "because")

    async def search(
        self, context: RequestContext, question: FindQuestion, session_id: str = ""
    ) -> FindResult:
        self.sessions.append(session_id)
        found = await self.finder.find(context, question)
        return replace(found, query_plan=self.plan)


class FakeAssembler:
    """Asked for no context by these tests: `test_context` has a real house."""

    def forget(self, identity: Identity, session_id: str) -> None:
        del identity, session_id


@dataclass
class FakeTree:
    """Texts by account and address; both the browser and the writer of the fake house."""

    texts: dict[tuple[str, Uri], str] = field(default_factory=dict)
    folders: set[tuple[str, Uri]] = field(default_factory=set)
    tags: dict[Uri, tuple[str, ...] | None] = field(default_factory=dict)
    retags: list[Retag] = field(default_factory=list)

    async def read(self, identity: Identity, uri: Uri) -> str:
        if (identity.account, uri) in self.folders:
            raise InvalidArgumentError(f"{uri.text!r} is a directory; expected a file")
        if (identity.account, uri) not in self.texts:
            raise NotFoundError(f"nothing is stored at {uri.text!r}", {"resource": uri.text})
        return self.texts[identity.account, uri]

    async def abstract(self, identity: Identity, uri: Uri) -> str:
        return f"abstract of {(await self.stat(identity, uri)).uri}"

    async def overview(self, identity: Identity, uri: Uri) -> str:
        return f"overview of {(await self.stat(identity, uri)).uri}"

    async def list(self, identity: Identity, uri: Uri, limit: int, offset: int = 0) -> Listing:
        await self._folder(identity, uri)
        here = [one for one in self._all(identity) if one.uri.parent == uri]
        return Listing(here[offset : offset + limit], len(here) > offset + limit)

    async def tree(
        self, identity: Identity, uri: Uri, depth: int, limit: int, offset: int = 0
    ) -> Listing:
        await self._folder(identity, uri)
        floor = len(uri.segments)
        below = [
            one
            for one in self._all(identity)
            if one.uri != uri and one.uri.is_under(uri) and len(one.uri.segments) - floor <= depth
        ]
        return Listing(below[offset : offset + limit], len(below) > offset + limit)

    async def stat(self, identity: Identity, uri: Uri) -> Entry:
        for entry in self._all(identity):
            if entry.uri == uri:
                return entry
        raise NotFoundError(f"nothing is stored at {uri.text!r}", {"resource": uri.text})

    async def write(
        self,
        identity: Identity,
        uri: Uri,
        text: str,
        mode: WriteMode,
        tags: tuple[str, ...] | None = None,
    ) -> Written:
        place = (identity.account, uri)
        if mode == "create" and place in self.texts:
            raise AlreadyExistsError(f"{uri.text!r} exists")
        old = self.texts.get(place, "") if mode == "append" else ""
        self.texts[place] = old + text
        self.tags[uri] = tags
        return Written(uri, mode, len((old + text).encode()), 1)

    async def remove(self, identity: Identity, uri: Uri, *, recursive: bool) -> int:
        if (identity.account, uri) in self.folders and not recursive:
            raise InvalidArgumentError(f"{uri.text!r} is a directory; pass recursive=true")
        gone = [p for p in self.texts if p[0] == identity.account and p[1].is_under(uri)]
        for place in gone:
            del self.texts[place]
        self.folders.discard((identity.account, uri))
        return len(gone)

    async def mkdir(self, identity: Identity, uri: Uri, description: str = "") -> None:
        del description
        if (identity.account, uri) in self.folders:
            raise ConflictError(f"{uri.text!r} exists", {"resource": uri.text})
        self.folders.add((identity.account, uri))

    async def move(self, identity: Identity, source: Uri, target: Uri) -> Commitment:
        move = Move(source, target, lambda _old, _new, line: line)
        account = identity.account
        texts = {p: t for p, t in self.texts.items() if p[0] == account and p[1].is_under(source)}
        folders = {p for p in self.folders if p[0] == account and p[1].is_under(source)}
        if not texts and not folders:
            raise NotFoundError(f"nothing is stored at {source.text!r}", {"resource": source.text})
        if (account, target) in {*self.texts, *self.folders}:
            raise AlreadyExistsError(f"{target.text!r} exists", {"resource": target.text})
        self.folders = self.folders - folders | {(account, move.address(p[1])) for p in folders}
        for place, text in texts.items():
            del self.texts[place]
            self.texts[account, move.address(place[1])] = text
        moved = sorted(move.address(place[1]) for place in (*texts, *folders))
        return Commitment(7, 0, moved=moved)

    async def retag(self, identity: Identity, retag: Retag) -> Commitment:
        await self.stat(identity, retag.uri)
        self.retags.append(retag)
        found = [one.uri for one in self._all(identity) if one.uri.is_under(retag.uri)]
        return Commitment(8, 0, retagged=found if retag.recursive else [retag.uri])

    async def _folder(self, identity: Identity, uri: Uri) -> None:
        if uri != ROOT and not (await self.stat(identity, uri)).is_directory:
            raise InvalidArgumentError(f"{uri.text!r} is a file; expected a directory")

    def _all(self, identity: Identity) -> Sequence[Entry]:
        files = [
            Entry(uri, False, len(text), NOW, f"about {uri.name}", ("kind=note",))
            for (account, uri), text in self.texts.items()
            if account == identity.account
        ]
        folders = [
            Entry(uri, True, 0, NOW, f"about {uri.name}", ())
            for account, uri in self.folders
            if account == identity.account
        ]
        return sorted([*files, *folders], key=lambda entry: entry.uri)


class FakeMatcher:
    def __init__(self) -> None:
        self.seconds = 0.0

    async def grep(self, *_: object, ignore_case: bool = False) -> Lines:
        del ignore_case
        await asyncio.sleep(self.seconds)
        return Lines((), 0, has_more=False)

    async def glob(self, *_: object) -> Paths:
        await asyncio.sleep(self.seconds)
        return Paths((), has_more=False)


class FakeJobs:
    def __init__(self) -> None:
        self.asked: list[AddRequest] = []
        self.fault: BaseException | None = None
        self.end = JobState.COMPLETED
        self.slow = False
        self.seconds = 0.0
        self.patience: list[float | None] = []
        self.jobs: dict[str, Job] = {}
        self.working: set[tuple[str, Uri]] = set()

    async def add_resource(self, identity: Identity, request: AddRequest) -> Job:
        if self.fault is not None:
            raise self.fault
        self.asked.append(request)
        spec = {"root_uri": "viking://resources/docs", "source_name": request.source_name}
        job = Job(
            f"job{len(self.jobs)}", identity, "add_resource", JobState.RUNNING, NOW, NOW, spec
        )
        self.jobs[job.id] = job
        return job

    async def finished(
        self,
        identity: Identity,
        job_id: str,
        timeout: float | None,  # noqa: ASYNC109
    ) -> Job:
        await self.get(identity, job_id)
        self.patience.append(timeout)
        await asyncio.sleep(self.seconds)
        if self.slow:
            raise DeadlineExceededError(f"task {job_id} goes on", {"task_id": job_id})
        result = {
            "added": 2,
            "updated": 0,
            "unchanged": 1,
            "removed": 0,
            "skipped": [{"path": "a.png", "reason": "binary"}],
            "failed": [],
            "note": "",
        }
        error = None if self.end is JobState.COMPLETED else "broken zip"
        ended = replace(self.jobs[job_id], state=self.end, result=result, error=error)
        self.jobs[job_id] = ended
        return ended

    async def get(self, identity: Identity, job_id: str) -> Job:
        if job_id not in self.jobs or self.jobs[job_id].identity != identity:
            raise NotFoundError(f"no task {job_id!r}", {"resource": job_id})
        return self.jobs[job_id]

    async def at_work(self, account: str, place: Uri) -> bool:
        return (account, place) in self.working

    async def list(self, identity: Identity, limit: int) -> Sequence[Job]:
        mine = [job for job in self.jobs.values() if job.identity == identity]
        return mine[::-1][:limit]

    async def running(self, identity: Identity) -> Sequence[Job]:
        jobs = self.jobs.values()
        return [job for job in jobs if job.identity == identity and not job.state.ended]

    async def cancel(self, identity: Identity, job_id: str) -> Job:
        self.jobs[job_id] = replace(await self.get(identity, job_id), state=JobState.CANCELLED)
        return self.jobs[job_id]


class FakeSettling:
    def __init__(self) -> None:
        self.asked: list[tuple[str | None, Uri | None]] = []
        self.users: list[str | None] = []
        self.patience: list[float | None] = []
        self.answer = Settled(0, 0, "")
        self.seconds = 0.0
        self.positions: list[int] = []
        self.follows = True

    async def followed(self, position: int, seconds: float) -> bool:
        assert seconds > 0
        self.positions.append(position)
        return self.follows

    async def settle(
        self,
        account: str | None,
        under: Uri | None,
        timeout: float | None,  # noqa: ASYNC109
        user: str | None = None,
    ) -> Settled:
        self.asked.append((account, under))
        self.users.append(user)
        self.patience.append(timeout)
        await asyncio.sleep(self.seconds)
        return self.answer


class FakeCommitter:
    def __init__(self) -> None:
        self.asked: list[tuple[Identity, str, int]] = []
        self.answer = Committed("s", None, None, 0, "nothing to archive")

    async def commit(self, identity: Identity, session_id: str, keep: int = 0) -> Committed:
        self.asked.append((identity, session_id, keep))
        return self.answer


class FakeUploads:
    def __init__(self) -> None:
        self.kept: list[tuple[Identity, str, bytes]] = []

    async def put(self, identity: Identity, name: str, data: BinaryIO) -> str:
        self.kept.append((identity, name, data.read()))
        return f"upload_{len(self.kept)}"


class FakeIdentities(MemoryIdentityStore):
    """Remembers every noted use of a key."""

    def __init__(self) -> None:
        super().__init__()
        self.uses: list[tuple[str, datetime]] = []
        self.fault: Exception | None = None

    async def let_in(self, secret: str, who: Identity, key_id: str = "k1") -> None:
        """Make the user that is missing, and a key of its."""
        if who.account not in self._accounts:
            await self.add_account(who.account, "founder", NOW)
        if (who.account, who.user) not in self._users:
            await self.add_user(who.account, who.user, who.role, NOW)
        await self.add_key(Key(key_id, who, digest_of(secret), secret[:8], "laptop", NOW))

    async def used(self, key_id: str, now: datetime) -> None:
        if self.fault is not None:
            raise self.fault
        self.uses.append((key_id, now))
        await super().used(key_id, now)


class FakeHouse:
    def __init__(self) -> None:
        self.finder = FakeFinder()
        self.searcher = FakeSearcher(self.finder)
        self.assembler = FakeAssembler()
        self.browser = self.writer = FakeTree()
        self.matcher = FakeMatcher()
        self.jobs = self.adding = FakeJobs()
        self.settling = FakeSettling()
        self.uploads = FakeUploads()
        self.identities = FakeIdentities()
        self.checks: dict[str, str] = {"store": "ok", "index": "ok"}
        self.models_of: dict[str, str] = {}
        self.readiness_seconds = 0.0
        self.opening: asyncio.Event | None = None
        self.opening_fault: Exception | None = None
        self.is_open = False
        self.ids = 0
        self.now = NOW
        self.sessions = MemorySessionStore()
        self.committer = FakeCommitter()
        self.conversations = Conversations(self.sessions, self.clock, self.new_id)

    def clock(self) -> datetime:
        return self.now

    def new_id(self) -> str:
        self.ids += 1
        return f"id{self.ids}"

    async def readiness(self) -> Mapping[str, str]:
        await asyncio.sleep(self.readiness_seconds)
        return self.checks

    def models(self) -> Mapping[str, str]:
        return self.models_of

    async def figures(self) -> Sequence[Figure]:
        await asyncio.sleep(self.readiness_seconds)
        return [gauge("index_rows", "Passages in the index.", 9)]

    async def status(
        self, account: str | None = None, user: str | None = None
    ) -> dict[str, object]:
        assert (account is None) == (user is None)  # nobody is shown the trees of others
        return {"counts": {"files": 3 if account is None else 1}, "index": {"rows": 9}}

    @asynccontextmanager
    async def open(self) -> AsyncIterator["FakeHouse"]:
        if self.opening is not None:
            await self.opening.wait()
        if self.opening_fault is not None:
            raise self.opening_fault
        self.is_open = True
        try:
            yield self
        finally:
            self.is_open = False
