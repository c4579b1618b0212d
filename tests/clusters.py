"""Search indexes in Qdrant for the tests: in the client's local mode, and on a real server where QDRANT_URL names one."""

import os
import warnings
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

NOWHERE = Place("http://nowhere.invalid:6333")
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


async def server_index() -> SearchIndex:
    """Return an index of its own on the real server; closing it removes what it made."""
    place = Place(SERVER or "", os.environ.get("QDRANT_API_KEY", ""), f"tests-{uuid4().hex}")
    return await _Passing.open(place, DIMENSION, "tests", SimpleTokenizer())


class _Passing(QdrantIndex):
    async def aclose(self) -> None:
        collections = self._collections
        for name in await collections._names():
            await collections._drop(name)
        await super().aclose()
