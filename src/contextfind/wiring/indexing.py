"""The search index of a data directory, opened, or built anew where it does not fit the database."""

import asyncio
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.embedded.standing import StandingIndex
from contextfind.ingestion.reindexing import put_right
from contextfind.ports import Embedder, Tokenizer
from contextfind.ports.index import RebuildableIndex
from contextfind.ports.reach import Reach
from contextfind.wiring.storage import Storage

INDEX = "index"  # in the data directory

_log = logging.getLogger(__name__)


class HouseIndex(RebuildableIndex, Protocol):
    """An index that says of itself how it stands, and is tidied."""

    async def kept(self) -> int:
        """Return the log position from which it will go on after a crash, 0 while it needs all of the log."""
        ...

    async def tidy(self) -> int:
        """Drop what is dead in it and have it written down; return how many records that were."""
        ...

    def stats(self) -> dict[str, int]:
        """Return figures of it."""
        ...


@dataclass(frozen=True, slots=True)
class IndexRecipe:
    """What an index is made with; rules: of an embedded one."""

    embedder: Embedder
    tokenizer: Tokenizer
    rules: IndexRules

    async def opened(self, directory: Path) -> EmbeddedIndex:
        """Return the index in a directory; an empty one where none is, or none that can be used."""
        sizes = (self.embedder.dimension, self.embedder.fingerprint)
        return await EmbeddedIndex.open(directory, *sizes, self.tokenizer, self.rules)


async def open_index(directory: Path, log: Reach, recipe: IndexRecipe) -> StandingIndex:
    """Return the index, built anew when an older database was put back beside it, or an older index.

    log: the positions from which an index can go on.
    """
    if log.last > 0 and not await asyncio.to_thread(directory.exists):
        _log.info("there is no search index yet: it is built of %d changes", log.last)
    index = await StandingIndex.open(directory, recipe.opened)
    position = await index.position()
    if position == 0 or position in log:
        return index
    _log.warning(
        "the index stands at change %d, the database leads on from %d to %d: it is built anew",
        position,
        log.first,
        log.last,
    )
    await index.aclose()
    await asyncio.to_thread(shutil.rmtree, directory)
    return await StandingIndex.open(directory, recipe.opened)


async def fit(index: HouseIndex, storage: Storage) -> None:
    """Build an index that processes share anew when an older state of it, or of the storage, was put back.

    Raises:
        UnavailableError: the index or the storage does not answer.

    """

    async def goes_on() -> bool:
        position = await index.position()
        return position == 0 or position in await storage.upkeep.reach()

    if not await goes_on():
        _log.warning("the index and the storage are of different times; the index is built anew")
        await put_right(index, storage.store, storage.company, goes_on)
