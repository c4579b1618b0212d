"""A schema of a PostgreSQL database as storage, and the search index in it; any number of processes at a time."""

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from contextfind.adapters.files.spool import Spool
from contextfind.adapters.postgres.blobs import PostgresBlobs
from contextfind.adapters.postgres.compaction import PostgresCompaction
from contextfind.adapters.postgres.company import PostgresCompany
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.identities import PostgresIdentityStore
from contextfind.adapters.postgres.index import PostgresIndex
from contextfind.adapters.postgres.jobs import PostgresJobStore
from contextfind.adapters.postgres.mending import PostgresMending
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.adapters.postgres.sessions import PostgresSessionStore
from contextfind.adapters.postgres.uploads import PostgresShelf
from contextfind.config.model import Settings
from contextfind.ingestion.mending import LostTexts
from contextfind.ports.housekeeping import BlobPresence, Chore, Swept
from contextfind.ports.reach import Reach
from contextfind.wiring.indexing import HouseIndex, IndexRecipe
from contextfind.wiring.storage import Storage
from contextfind.wiring.surroundings import Surroundings

_SPOOL = f"contextfind-uploads-{os.getuid()}"  # in the directory for temporary files


@dataclass(frozen=True, slots=True)
class SharedStorage(Storage):
    """The stores in one schema; database: what they share."""

    database: Database


def place_of(settings: Settings) -> Place:
    """Return the schema that the settings name."""
    named = settings.storage
    return Place(named.dsn, named.db_schema, named.connections, named.timeout)


async def open_postgres(
    settings: Settings, around: Surroundings, stack: AsyncExitStack, *, making: bool
) -> SharedStorage:
    """Connect to the database, its tables made or brought up to date; `stack` closes everything.

    making: also where there are none yet.

    Raises:
        ConfigError: there are none, and none are to be made.
        FailedPreconditionError: tables of a newer contextfind, no pgvector, or no right to make what is missing.
        UnavailableError: it does not answer.

    """
    place = place_of(settings)
    database = await Database.open(place, making=making)
    stack.push_async_callback(database.aclose)
    company = PostgresCompany(database)
    stack.push_async_callback(company.aclose)
    blobs = PostgresBlobs(database)
    stack.push_async_callback(blobs.aclose)
    spool = await asyncio.to_thread(Spool, Path(tempfile.gettempdir()) / _SPOOL)
    stack.push_async_callback(spool.aclose)
    uploads = PostgresShelf(
        database,
        spool,
        around.new_id,
        around.clock,
        settings.server.max_upload_bytes,
    )
    return SharedStorage(
        place=place.shown(),
        named_by="",
        store=PostgresRecordStore(database),
        blobs=blobs,
        identities=PostgresIdentityStore(database),
        jobs=PostgresJobStore(database),
        sessions=PostgresSessionStore(database),
        uploads=uploads,
        upkeep=_Schema(PostgresCompaction(database), PostgresMending(database), blobs),
        company=company,
        database=database,
    )


async def open_postgres_index(storage: SharedStorage, recipe: IndexRecipe) -> HouseIndex:
    """Return the index in the schema of a storage; an empty one where none of this embedder is yet.

    Raises:
        UnavailableError: the database does not answer.

    """
    embedder = recipe.embedder
    return await PostgresIndex.open(
        storage.database, embedder.dimension, embedder.fingerprint, recipe.tokenizer
    )


@dataclass(frozen=True, slots=True)
class _Schema:
    """`Upkeep` of a schema."""

    compaction: PostgresCompaction
    mending: PostgresMending
    blobs: PostgresBlobs

    @property
    def writes(self) -> int:
        return self.compaction.writes

    async def reach(self) -> Reach:
        return await self.compaction.reach()

    def note_followed(self, position: int) -> None:
        self.compaction.note_followed(position)

    @property
    def chores(self) -> Sequence[Chore]:
        return self.compaction.chores

    def loose_blobs(self, grace: float) -> Chore:
        return self.blobs.loose(readers=grace)

    def repairs(self, presence: BlobPresence | None = None) -> Sequence[Chore]:
        return (*self.mending.chores, LostTexts(self.mending, presence or self.blobs).chore)

    async def sizes(self) -> Mapping[str, float]:
        return await self.compaction.sizes()

    async def rewrite(self) -> Swept:
        return await self.compaction.rewrite()
