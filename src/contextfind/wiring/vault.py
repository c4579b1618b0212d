"""The data of a directory without anything that works on it: what exports and imports need."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from contextfind.config.model import Settings
from contextfind.ports import BlobStore, Clock, IdentityStore, RecordStore, SessionStore
from contextfind.transfer.exporting import Exporter
from contextfind.transfer.importing import Importer
from contextfind.wiring.backends import open_storage
from contextfind.wiring.engines import check_fingerprint
from contextfind.wiring.models import Switchboard, open_embedder
from contextfind.wiring.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Vault:
    """A data directory, opened and locked.

    fingerprint: of the embedder that its vectors are made by, empty when nobody has said yet.
    dimension: of its vectors, 0 when it was not opened for `filling`.
    """

    store: RecordStore
    blobs: BlobStore
    identities: IdentityStore
    sessions: SessionStore
    clock: Clock
    fingerprint: str
    dimension: int = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, surroundings: Surroundings | None = None, *, filling: bool = False
    ) -> AsyncIterator["Vault"]:
        """Open the data directory and give what lies in it; no worker starts, no model is loaded.

        filling: make sure that its vectors are those of the configured embedder, as a server would. Without it a
        database must have our tables already.

        Raises:
            ConfigError: there is no data in the database, and (not filling) none is to be made.
            FailedPreconditionError: the directory is in use, newer, or (filling) made by another embedder.
            UnavailableError: a file cannot be opened, or the embedder's dimension cannot be learnt.

        """
        around = surroundings or Surroundings.real()
        async with AsyncExitStack() as stack:
            storage = await open_storage(settings, around, stack, making=filling)
            store = storage.store
            dimension = 0
            if filling:
                known = await store.fingerprint()
                embedder = await open_embedder(settings.embedding, Switchboard(stack), known)
                await check_fingerprint(storage, embedder, reembed=False)
                dimension = embedder.dimension
            made_by = await store.fingerprint() or ""
            yield cls(
                store,
                storage.blobs,
                storage.identities,
                storage.sessions,
                around.clock,
                made_by,
                dimension,
            )

    @property
    def exporter(self) -> Exporter:
        """What writes the data into a file."""
        return Exporter(self.store, self.blobs, self.identities, self.sessions)

    @property
    def importer(self) -> Importer:
        """What brings a file into the data; a fresh one for each file."""
        return Importer(self.store, self.blobs, self.identities, self.sessions, self.clock)
