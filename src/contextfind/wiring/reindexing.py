"""The index thrown away and built anew by a command; that of a data directory while no server works on it."""

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.files.inspection import BlobInspection, BlobState
from contextfind.adapters.local.words import WordTokenizer
from contextfind.config.model import Settings
from contextfind.domain.records import RecordId
from contextfind.ingestion.housekeeping import done
from contextfind.ingestion.reindexing import rebuilt
from contextfind.ports import RecordStore
from contextfind.ports.housekeeping import BlobPresence
from contextfind.ports.index import handed_over
from contextfind.wiring.backends import open_index_of, open_storage
from contextfind.wiring.engines import check_fingerprint
from contextfind.wiring.indexing import INDEX, HouseIndex, IndexRecipe
from contextfind.wiring.models import Switchboard, open_embedder
from contextfind.wiring.progress import Told
from contextfind.wiring.storage import Storage, Upkeep
from contextfind.wiring.surroundings import Surroundings

_BATCH = 2_000  # changes in one step; nobody waits for answers meanwhile
_LOOK_SECONDS = 0.2  # between two looks at the graphs that are being drawn


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """records: that the new index finds. waiting: texts without a vector. repaired: what was put right before, by kind."""

    records: int
    waiting: int
    repaired: Mapping[str, int] = field(default_factory=dict)


async def rebuild_index(settings: Settings, told: Told, *, vectors: bool = False) -> Rebuilt:
    """Put right what can be in the data, and build the index anew from the stored log.

    An index of a database or a cluster is built beside the old one, which answers meanwhile.

    vectors: drop them all; a server, or whoever opens the house next, makes them anew.

    Raises:
        ConfigError: there is no data in the database. FailedPreconditionError: the directory is in use, newer, or made by another embedder.
        UnavailableError: a file does not answer, or the embedder's dimension cannot be learnt.

    """
    async with AsyncExitStack() as stack:
        storage = await open_storage(settings, Surroundings.real(), stack, making=False)
        store = storage.store
        known = await store.fingerprint()
        embedder = await open_embedder(settings.embedding, Switchboard(stack), known)
        await check_fingerprint(storage, embedder, reembed=vectors)
        repaired = await _repaired(storage.upkeep, _presence(settings, told), told)
        if vectors:
            await store.forget_vectors()
        recipe = IndexRecipe(embedder, WordTokenizer(), IndexRules(graphs=settings.index.graphs))
        if settings.index_backend == "embedded":
            records, refused = await _built(Path(settings.storage.path), store, recipe, told)
        else:
            index = await open_index_of(settings, storage, recipe, stack)
            records, refused = await _built_beside(index, storage, told)
        if refused:
            await store.embed_again(refused)
            repaired["records with damaged vectors"] = len(refused)
        return Rebuilt(records, (await store.backlog()).texts, repaired)


async def _built(
    directory: Path, store: RecordStore, recipe: IndexRecipe, told: Told
) -> tuple[int, Sequence[RecordId]]:
    """Build the index of a data directory; return its records, and those whose vectors are damaged."""
    await asyncio.to_thread(_throw_away, directory)
    async with aclosing(await recipe.opened(directory / INDEX)) as index:
        refused = await _follow(store, index, told)
        await _draw(index, told)
        return index.stats()["records"], refused


async def _built_beside(
    index: HouseIndex, storage: Storage, told: Told
) -> tuple[int, Sequence[RecordId]]:
    """Build an index that is elsewhere; return its records, and those whose vectors are damaged."""
    store = storage.store

    async def step(position: int) -> None:
        told("building the index", position, await store.position(), "changes")

    refused = await rebuilt(index, store.changes, step, storage.company)
    await index.position()  # what it says of itself is of the last time it was asked
    return index.stats()["records"], refused


def _presence(settings: Settings, told: Told) -> BlobPresence | None:
    """Return who says which texts are there; None: whoever keeps them, as a database does."""
    if settings.storage.backend != "sqlite":
        return None
    return _WholeBlobs(BlobInspection(Path(settings.storage.path) / "blobs"), told)


async def _repaired(upkeep: Upkeep, presence: BlobPresence | None, told: Told) -> dict[str, int]:
    found: dict[str, int] = {}
    for chore in upkeep.repairs(presence):
        told(f"looking for {chore.things}", 0, 0, "")
        if things := (await done(chore)).things:
            found[chore.things] = things
    return found


@dataclass(slots=True)
class _WholeBlobs:
    """`BlobPresence` that reads them: what is damaged is as good as absent."""

    inspection: BlobInspection
    told: Told
    read: int = 0

    async def absent(self, digests: Sequence[str]) -> Sequence[str]:
        self.read += len(digests)
        self.told("reading texts", self.read, 0, "")
        return await asyncio.to_thread(self._absent, digests)

    def _absent(self, digests: Sequence[str]) -> Sequence[str]:
        return [one for one in digests if self.inspection.state(one) is not BlobState.WHOLE]


def _throw_away(directory: Path) -> None:
    for place in directory.glob(f"{INDEX}*"):  # what an interrupted rebuild left beside it, too
        if place.is_dir():
            shutil.rmtree(place)


async def _follow(store: RecordStore, index: EmbeddedIndex, told: Told) -> list[RecordId]:
    """Follow the whole log; return the records whose vectors are damaged."""
    refused: list[RecordId] = []
    last, there = await store.position(), 0
    while changes := await store.changes(there, _BATCH):
        told("building the index", there, last, "changes")
        refused += await handed_over(index, changes)
        there = changes[-1].position
    return refused


async def _draw(index: EmbeddedIndex, told: Told) -> None:
    """Return when all segments are merged, and have their graphs."""
    resting = asyncio.create_task(index.rest())
    while not (await asyncio.wait({resting}, timeout=_LOOK_SECONDS))[0]:
        stats = index.stats()
        if stats["rows_to_draw"]:
            told("drawing graphs", stats["drawn_rows"], stats["rows_to_draw"], "vectors")
    await resting
