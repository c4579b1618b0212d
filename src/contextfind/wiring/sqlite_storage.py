"""A data directory as storage: a SQLite file, blobs and uploads beside it; one process at a time."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.files.shelf import LocalShelf
from contextfind.adapters.sqlite.compaction import SqliteCompaction
from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.adapters.sqlite.jobs import SqliteJobStore
from contextfind.adapters.sqlite.mending import SqliteMending
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.adapters.sqlite.sessions import SqliteSessionStore
from contextfind.config.model import Settings
from contextfind.ingestion.housekeeping import LooseBlobs
from contextfind.ingestion.mending import LostTexts
from contextfind.ports.company import Solitude
from contextfind.ports.housekeeping import BlobPresence, Chore, Swept
from contextfind.ports.reach import Reach
from contextfind.wiring.directory import open_directory
from contextfind.wiring.indexing import INDEX
from contextfind.wiring.storage import Storage
from contextfind.wiring.surroundings import Surroundings

_DATABASE = f"{FILE_NAME}*"  # with its log


async def open_sqlite(settings: Settings, around: Surroundings, stack: AsyncExitStack) -> Storage:
    """Lock and open the data directory; `stack` closes everything in reverse order.

    Raises:
        FailedPreconditionError: the directory is in use, newer, half restored, or without its database.
        UnavailableError: a file cannot be opened.

    """
    directory = Path(settings.storage.path)
    database, blobs = await open_directory(directory, stack)
    uploads = LocalShelf(
        directory / "uploads", around.new_id, around.clock, settings.server.max_upload_bytes
    )
    stack.push_async_callback(uploads.aclose)
    store = SqliteRecordStore(database)
    compaction, mending = SqliteCompaction(database), SqliteMending(database)
    return Storage(
        place=str(directory),
        named_by=f"--data {directory} ",
        store=store,
        blobs=blobs,
        identities=SqliteIdentityStore(database),
        jobs=SqliteJobStore(database),
        sessions=SqliteSessionStore(database),
        uploads=uploads,
        upkeep=_Directory(directory, store, compaction, mending, blobs),
        company=Solitude(),
    )


@dataclass(frozen=True, slots=True)
class _Directory:
    """`Upkeep` of a data directory."""

    directory: Path
    store: SqliteRecordStore
    compaction: SqliteCompaction
    mending: SqliteMending
    blobs: FileBlobs

    @property
    def writes(self) -> int:
        return self.compaction.writes

    async def reach(self) -> Reach:
        return Reach(await self.compaction.forgotten(), await self.store.position())

    def note_followed(self, position: int) -> None:
        self.compaction.note_followed(position)

    @property
    def chores(self) -> Sequence[Chore]:
        return self.compaction.chores

    def loose_blobs(self, grace: float) -> Chore:
        return LooseBlobs(self.compaction, self.blobs, grace).chore

    def repairs(self, presence: BlobPresence | None = None) -> Sequence[Chore]:
        return (*self.mending.chores, LostTexts(self.mending, presence or self.blobs).chore)

    async def sizes(self) -> Mapping[str, float]:
        return await asyncio.to_thread(_sizes, self.directory)

    async def rewrite(self) -> Swept:
        return await self.compaction.rewrite()


def _sizes(directory: Path) -> Mapping[str, float]:
    """Return the bytes of the database and of the index; a file that goes meanwhile counts nothing."""
    return {
        "database": _bytes_of(directory.glob(_DATABASE)),
        "index": _bytes_of((directory / INDEX).rglob("*")),
    }


def _bytes_of(paths: Iterable[Path]) -> float:
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return float(total)
