"""What there is to tidy in a data directory, and who does it."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from contextfind.adapters.embedded.standing import StandingIndex
from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.files.shelf import LocalShelf
from contextfind.adapters.sqlite.compaction import SqliteCompaction
from contextfind.adapters.sqlite.jobs import SqliteJobStore
from contextfind.adapters.sqlite.mending import SqliteMending
from contextfind.config.model import Settings
from contextfind.ingestion.courtesy import Courtesy
from contextfind.ingestion.housekeeping import Hours, Housekeeper, LooseBlobs, done
from contextfind.ingestion.mending import LostTexts, Mender
from contextfind.ports import Clock, JobStore
from contextfind.ports.housekeeping import Chore, Swept
from contextfind.wiring.directory import open_directory
from contextfind.wiring.surroundings import Surroundings

UPLOADS = timedelta(days=7)  # so old and no task has used them: nobody wants them any more
_TASKS = timedelta(days=7)  # so long a task that has ended can be asked for
_SHORTEST = 0.1  # quiet seconds; below that it would only be awake all the time
_GRACE = 2.0  # seconds between reading a record and reading its blob, at the very most
_TASKS_AT_ONCE = 500  # rows of one transaction: some milliseconds


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where there is something to tidy."""

    jobs: JobStore
    uploads: LocalShelf
    blobs: FileBlobs
    compaction: SqliteCompaction
    mending: SqliteMending

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, surroundings: Surroundings | None = None
    ) -> AsyncIterator["Rooms"]:
        """Open those of a data directory, alone; no worker starts, no model is loaded.

        Raises:
            FailedPreconditionError: the directory is in use, or newer.
            UnavailableError: a file cannot be opened.

        """
        around = surroundings or Surroundings.real()
        directory = Path(settings.storage.path)
        async with AsyncExitStack() as stack:
            database, blobs = await open_directory(directory, stack)
            limit = settings.server.max_upload_bytes
            uploads = LocalShelf(directory / "uploads", around.new_id, around.clock, limit)
            stack.push_async_callback(uploads.aclose)
            compaction, mending = SqliteCompaction(database), SqliteMending(database)
            yield cls(SqliteJobStore(database), uploads, blobs, compaction, mending)

    def chores(self, clock: Clock, grace: float) -> Sequence[Chore]:
        """Return what can be taken away, the small things first; grace: as of `LooseBlobs`."""
        return (
            _Tasks(self.jobs, clock).chore,
            _Uploads(self.uploads).chore,
            LooseBlobs(self.compaction, self.blobs, grace).chore,
        )

    @property
    def repairs(self) -> Sequence[Chore]:
        """What is looked for, and put right, once after a start."""
        return (*self.mending.chores, LostTexts(self.mending, self.blobs).chore)

    async def compact(self, now: datetime) -> Sequence[tuple[str, Swept]]:
        """Take away all of it at once, and write the database anew; return what each has given back.

        For a directory that nobody else works on.

        Raises:
            UnavailableError: the disk refuses, or is too full to write the database a second time.

        """
        told = [(chore.things, await done(chore)) for chore in self.chores(lambda: now, grace=0.0)]
        return [*told, ("database", await self.compaction.rewrite())]


def build_housekeeper(
    settings: Settings,
    rooms: Rooms,
    index: StandingIndex,
    around: Surroundings,
    courtesy: Courtesy,
) -> Housekeeper | None:
    """Return who tidies up between the writes and the finds, None where the settings say never."""
    quiet = settings.storage.idle_seconds
    if quiet == 0:
        return None
    compaction = rooms.compaction
    chores = (
        _Index(index, compaction).chore,
        *compaction.chores,
        *rooms.chores(around.clock, _GRACE),
    )
    hours = Hours(
        lambda: compaction.writes,
        max(quiet, _SHORTEST),
        around.timer,
        give_way=courtesy.give_way,
    )
    return Housekeeper(chores, hours)


def build_mender(rooms: Rooms, courtesy: Courtesy) -> Mender:
    """Return who looks once whether all is whole."""
    return Mender(rooms.repairs, courtesy.give_way)


@dataclass(frozen=True, slots=True)
class _Tasks:
    """Forgets tasks that ended a week ago."""

    store: JobStore
    clock: Clock

    @property
    def chore(self) -> Chore:
        return Chore("old tasks", self._steps)

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        before = self.clock() - _TASKS
        while (gone := await self.store.forget(before, _TASKS_AT_ONCE)) > 0:
            yield Swept(gone)


@dataclass(frozen=True, slots=True)
class _Uploads:
    """Drops uploads that nobody has used."""

    shelf: LocalShelf

    @property
    def chore(self) -> Chore:
        return Chore("old uploads", self._steps)

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        yield Swept(await self.shelf.sweep(UPLOADS))


@dataclass(frozen=True, slots=True)
class _Index:
    """Drops what is dead in the search index, and writes it down."""

    index: StandingIndex
    compaction: SqliteCompaction

    @property
    def chore(self) -> Chore:
        return Chore("dead records of the index", self._steps)

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        self.compaction.note_followed(self.index.kept)
        yield Swept(await self.index.tidy())
