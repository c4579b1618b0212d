"""What there is to tidy, and who does it."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from contextfind.config.model import Settings
from contextfind.ingestion.courtesy import Courtesy
from contextfind.ingestion.housekeeping import Hours, Housekeeper, done
from contextfind.ingestion.mending import Mender
from contextfind.ports import Clock, JobStore
from contextfind.ports.housekeeping import Chore, Swept
from contextfind.wiring.backends import open_storage
from contextfind.wiring.indexing import HouseIndex
from contextfind.wiring.storage import HouseShelf, Storage, Upkeep
from contextfind.wiring.surroundings import Surroundings

UPLOADS = timedelta(days=7)  # so old and no task has used them: nobody wants them any more
_TASKS = timedelta(days=7)  # so long a task that has ended can be asked for
_SHORTEST = 0.1  # quiet seconds; below that it would only be awake all the time
_GRACE = 2.0  # seconds between reading a record and reading its blob, at the very most
_TASKS_AT_ONCE = 500  # rows of one transaction: some milliseconds


@asynccontextmanager
async def open_rooms(
    settings: Settings, surroundings: Surroundings | None = None
) -> AsyncIterator[Storage]:
    """Open where there is something to tidy; no worker starts, no model is loaded.

    Raises:
        ConfigError: there is no data in the database. FailedPreconditionError: it is in use, or newer.
        UnavailableError: it cannot be opened.

    """
    around = surroundings or Surroundings.real()
    async with AsyncExitStack() as stack:
        yield await open_storage(settings, around, stack, making=False)


async def compact(storage: Storage, now: datetime) -> Sequence[tuple[str, Swept]]:
    """Take away all that can be at once, and write the database anew; return what each has given back.

    For a storage that nobody else works on.

    Raises:
        UnavailableError: the disk refuses, or is too full to write the database a second time.

    """
    chores = _chores(storage, lambda: now, grace=0.0)
    told = [(chore.things, await done(chore)) for chore in chores]
    return [*told, ("database", await storage.upkeep.rewrite())]


def build_housekeeper(
    settings: Settings,
    storage: Storage,
    index: HouseIndex,
    around: Surroundings,
    courtesy: Courtesy,
) -> Housekeeper | None:
    """Return who tidies up between the writes and the finds, None where the settings say never."""
    quiet = settings.storage.idle_seconds
    if quiet == 0:
        return None
    chores = (
        _Index(index, storage.upkeep).chore,
        *storage.upkeep.chores,
        *_chores(storage, around.clock, _GRACE),
    )
    hours = Hours(
        lambda: storage.upkeep.writes,
        max(quiet, _SHORTEST),
        around.timer,
        give_way=courtesy.give_way,
        leads=storage.company.leads,
    )
    return Housekeeper(chores, hours)


def build_mender(storage: Storage, courtesy: Courtesy) -> Mender:
    """Return who looks once whether all is whole."""
    return Mender(storage.upkeep.repairs(), courtesy.give_way)


def _chores(storage: Storage, clock: Clock, grace: float) -> Sequence[Chore]:
    """Return what there is whatever the backend, the small things first."""
    return (
        _Tasks(storage.jobs, clock).chore,
        _Uploads(storage.uploads).chore,
        storage.upkeep.loose_blobs(grace),
    )


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

    shelf: HouseShelf

    @property
    def chore(self) -> Chore:
        return Chore("old uploads", self._steps)

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        yield Swept(await self.shelf.sweep(UPLOADS))


@dataclass(frozen=True, slots=True)
class _Index:
    """Drops what is dead in the search index, and writes it down."""

    index: HouseIndex
    upkeep: Upkeep

    @property
    def chore(self) -> Chore:
        return Chore("dead records of the index", self._steps)

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        self.upkeep.note_followed(await self.index.kept())
        yield Swept(await self.index.tidy())
