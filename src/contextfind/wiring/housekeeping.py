"""What there is to tidy in a data directory, and who does it."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from contextfind.adapters.files.shelf import LocalShelf
from contextfind.config.model import Settings
from contextfind.ingestion.housekeeping import Hours, Housekeeper, LooseBlobs
from contextfind.ports import Clock, JobStore
from contextfind.ports.housekeeping import Chore, Swept
from contextfind.wiring.engines import FORGOTTEN, Engines
from contextfind.wiring.surroundings import Surroundings

_TASKS = timedelta(days=7)  # so long a task that has ended can be asked for
_SHORTEST = 0.1  # quiet seconds; below that it would only be awake all the time
_GRACE = 2.0  # seconds between reading a record and reading its blob, at the very most
_TASKS_AT_ONCE = 500  # rows of one transaction: some milliseconds


def build_housekeeper(
    settings: Settings, engines: Engines, around: Surroundings
) -> Housekeeper | None:
    """Return who tidies up between the writes, None where the settings say never."""
    quiet = settings.storage.idle_seconds
    if quiet == 0:
        return None
    compaction = engines.compaction
    hours = Hours(lambda: compaction.writes, max(quiet, _SHORTEST), around.timer)
    return Housekeeper(chores_of(engines, around.clock, _GRACE), hours)


def chores_of(engines: Engines, clock: Clock, grace: float) -> Sequence[Chore]:
    """Return what there is to do; what frees pages comes before what gives them back.

    grace: as of `LooseBlobs`.
    """
    return (
        _Tasks(engines.job_store, clock).chore,
        _Uploads(engines.uploads).chore,
        *engines.compaction.chores,
        LooseBlobs(engines.compaction, engines.blobs, grace).chore,
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

    shelf: LocalShelf

    @property
    def chore(self) -> Chore:
        return Chore("old uploads", self._steps)

    async def _steps(self) -> AsyncGenerator[Swept, None]:
        yield Swept(await self.shelf.sweep(FORGOTTEN))
