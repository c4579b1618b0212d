"""Search indexes in Qdrant for the tests.

In the client's local mode; on Qdrant's own engine behind the wire of a server; and on a real server where QDRANT_URL
names one.
"""

import os
import shutil
import tempfile
import warnings
from pathlib import Path
from uuid import uuid4

from qdrant_client import AsyncQdrantClient

from contextfind.adapters.qdrant.index import QdrantIndex
from contextfind.adapters.qdrant.place import Place
from contextfind.adapters.qdrant.rules import SearchRules
from contextfind.domain.filters import Everything
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Probe, SearchIndex
from tests.builders import DIMENSION, unit
from tests.fakes import SimpleTokenizer
from tests.stubs.qdrant_server import QdrantServer

NOWHERE = Place("http://nowhere.invalid:6333")
# four times as fast as a disk: the engine syncs files when a collection is made
_SHM = Path("/dev/shm")  # noqa: S108 - a directory of our own is made in it
MEMORY = _SHM if _SHM.is_dir() else None
# asks for so little at first that a search has to ask again
MISERLY = SearchRules(passages=1, spare=0, more=2, exact_below=3)
SERVER = os.environ.get("QDRANT_URL")


async def local_index(
    client: AsyncQdrantClient | None = None,
    dimension: int = DIMENSION,
    rules: SearchRules | None = None,
) -> QdrantIndex:
    """Return an index inside this process."""
    with warnings.catch_warnings():  # local mode says once what it leaves out
        warnings.simplefilter("ignore")
        made = client or AsyncQdrantClient(":memory:")
        index = await QdrantIndex.open(NOWHERE, dimension, "tests", SimpleTokenizer(), made, rules)
        everything = Scope("", "", (ROOT,))
        await index.search([Probe(everything, Everything(), 1, unit(1, dimension))])
        return index


async def miserly_index() -> QdrantIndex:
    """Return an index inside this process that has to ask again."""
    return await local_index(rules=MISERLY)


async def engine_index(rules: SearchRules | None = None) -> SearchIndex:
    """Return an index on Qdrant's own engine, behind the wire of a server; closing it removes what it wrote."""
    home = tempfile.mkdtemp(prefix="contextfind-qdrant-", dir=MEMORY)
    client = AsyncQdrantClient(
        "http://localhost", transport=QdrantServer(Path(home)), check_compatibility=False
    )
    made = await _Passing.open(NOWHERE, DIMENSION, "tests", SimpleTokenizer(), client, rules)
    made.home = home
    return made


async def server_index() -> SearchIndex:
    """Return an index of its own on the real server; closing it removes what it made."""
    place = Place(SERVER or "", os.environ.get("QDRANT_API_KEY", ""), f"tests-{uuid4().hex}")
    return await _Passing.open(place, DIMENSION, "tests", SimpleTokenizer())


class _Passing(QdrantIndex):
    home: str | None = None

    async def aclose(self) -> None:
        collections = self._collections
        for name in await collections._names():
            await collections._drop(name)
        await super().aclose()
        if self.home is not None:
            shutil.rmtree(self.home)
