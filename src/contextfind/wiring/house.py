"""settings -> engines -> services -> House, closed in reverse order."""

from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from contextfind.adapters.process.spare import SpareProcess
from contextfind.answering.answerer import Answerer
from contextfind.answering.assembly.assembler import Assembler
from contextfind.config.model import Settings
from contextfind.domain.errors import UnavailableError
from contextfind.domain.figures import Figure
from contextfind.ingestion.adding import Adding
from contextfind.ingestion.ingest import Ingest
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.reindexing import Reindexing
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.writing import Tally, Writer
from contextfind.ports import Clock, IdentityStore, IdMaker, UploadShelf
from contextfind.retrieval.browsing import Browser
from contextfind.retrieval.census import Census
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.matching import Matcher
from contextfind.retrieval.searcher import Searcher
from contextfind.sessions.commit import Committer
from contextfind.sessions.conversations import Conversations
from contextfind.wiring.answering import Asking, build_asking
from contextfind.wiring.background import Ground, start_background
from contextfind.wiring.engines import Engines, open_engines
from contextfind.wiring.figures import Measured
from contextfind.wiring.housekeeping import build_housekeeper
from contextfind.wiring.services import (
    Workers,
    add_desk,
    build_desk,
    build_finder,
    start_workers,
    stop_workers,
)
from contextfind.wiring.skills import Skills, build_skills
from contextfind.wiring.surroundings import Surroundings

_CPU_THREADS = 2  # parsing beside the event loop; more only fight for the same two cores
_PARSERS = ("contextfind.ingestion.drafting",)  # of many files: in a process of its own


@dataclass(frozen=True, slots=True)
class House:
    """Everything a server needs; `open` builds it, leaving the context closes it in reverse."""

    settings: Settings
    finder: Finder
    asking: Asking
    browser: Browser
    matcher: Matcher
    writer: Writer
    adding: Adding
    skills: Skills
    committer: Committer
    jobs: Jobs
    reindexing: Reindexing
    settling: Settling
    conversations: Conversations
    uploads: UploadShelf
    identities: IdentityStore
    clock: Clock
    new_id: IdMaker
    _engines: Engines
    _workers: Workers
    _tally: Tally

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        surroundings: Surroundings | None = None,
        *,
        served: Sequence[Path] = (),
        reembed: bool = False,
    ) -> AsyncIterator["House"]:
        """Open the data directory, start the workers, and give the house.

        served: paths that the server itself may add (`Adding.add_resource(own=True)`), and nobody else.
        reembed: drop all vectors when they were made by another embedder, and make them anew.

        Raises:
            FailedPreconditionError: the directory is in use, newer, or made by another embedder.
            UnavailableError: a file cannot be opened, or the embedder's dimension cannot be learnt.

        """
        around = surroundings or Surroundings.real()
        async with AsyncExitStack() as stack:
            yield await cls._built(settings, around, stack, served, reembed=reembed)

    @classmethod
    async def _built(
        cls,
        settings: Settings,
        around: Surroundings,
        stack: AsyncExitStack,
        served: Sequence[Path],
        *,
        reembed: bool,
    ) -> "House":
        engines = await open_engines(settings, around, stack, reembed=reembed)
        cpu = ThreadPoolExecutor(_CPU_THREADS, "parsing")
        stack.callback(cpu.shutdown)
        bulk = SpareProcess(cpu, warm=_PARSERS)
        stack.callback(bulk.shutdown)
        desk = build_desk(settings, engines, around, cpu, bulk)
        pulse = Pulse()
        keeper = build_housekeeper(settings, engines.storage, engines.index, around, desk.courtesy)
        workers = start_workers(engines, desk, pulse, around, keeper)
        stack.push_async_callback(stop_workers, workers)
        reach = engines.storage.upkeep.reach if engines.shares_index else None
        settling = Settling(engines.store, engines.index, workers.embedding, pulse, reach=reach)
        ingest = Ingest(desk, workers.summaries, settings.ingestion.max_file_bytes)
        adds = add_desk(settings, engines, ingest, settling, served)
        finder = build_finder(settings, engines, workers, around)
        writer = Writer(desk)
        ground = Ground(settings, engines, around, finder, writer, settling, cpu, desk.courtesy)
        background = await start_background(ground, adds, stack)
        conversations = Conversations(engines.sessions, around.clock, around.new_id)
        return cls(
            settings=settings,
            finder=finder,
            asking=build_asking(ground, conversations.recollect, workers.uses.count),
            browser=Browser(engines.store, engines.blobs, workers.uses.count),
            matcher=Matcher(engines.store, engines.blobs, cpu),
            writer=writer,
            adding=background.adding,
            skills=build_skills(engines, desk, workers, background.adding),
            committer=background.committer,
            jobs=background.jobs,
            reindexing=background.reindexing,
            settling=settling,
            conversations=conversations,
            uploads=engines.storage.uploads,
            identities=engines.storage.identities,
            clock=around.clock,
            new_id=around.new_id,
            _engines=engines,
            _workers=workers,
            _tally=desk.tally,
        )

    @property
    def searcher(self) -> Searcher:
        """What plans searches."""
        return self.asking.searcher

    @property
    def answerer(self) -> Answerer:
        """What writes answers."""
        return self.asking.answerer

    @property
    def assembler(self) -> Assembler:
        """What makes contexts for prompts."""
        return self.asking.assembler

    @property
    def census(self) -> Census:
        """What counts what somebody has."""
        return Census(self._engines.store, self._engines.index, self.clock)

    async def readiness(self) -> Mapping[str, str]:
        """Return `ok` or one line of what is wrong for all that finds need: store, index, each worker."""
        await self._engines.store.position()  # an answer of the store is all that is asked
        return {
            "store": "ok",
            "index": await self._index_standing(),
            **{f"worker {name}": shift.standing for name, shift in self._workers.shifts.items()},
        }

    async def _index_standing(self) -> str:
        """Return what the follower says, and whether the index answers while there is nothing to follow."""
        standing = self._workers.follower.standing
        try:
            await self._engines.index.position()
        except UnavailableError as fault:
            return f"does not answer: {fault}" if standing == "ok" else standing
        return standing

    async def figures(self) -> Sequence[Figure]:
        """Return what monitoring is told."""
        made = (self._engines, self._workers, self.jobs, self._tally, self.finder.recent)
        return await Measured(*made).figures()

    def models(self) -> Mapping[str, str]:
        """Return `ok` or one line of what is wrong for the embedder and each model behind the network.

        Whatever is wrong with them, finds are answered, at worst by words alone.
        """
        lines = {one.name: one.line for one in self._engines.board.standings()}
        return {"embedder": self._workers.embedding.failing or "ok"} | lines

    async def status(
        self, account: str | None = None, user: str | None = None
    ) -> dict[str, object]:
        """Return counts, the work that waits, and the engines' figures.

        Of an account as one of its users may know it, or of all of them.
        """
        backlog = await self._engines.store.backlog(account, user=user)
        embedder = self._engines.embedder
        return {
            "counts": await self._engines.store.counts(account, user),
            "backlog": {"texts": backlog.texts, "directories": backlog.directories},
            "index": self._engines.index.stats(),
            "embedder": {"fingerprint": embedder.fingerprint, "dimension": embedder.dimension},
        }
