"""Where everything is kept, whatever keeps it: the stores of one backend, opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from contextfind.ports import BlobStore, IdentityStore, JobStore, SessionStore, UploadShelf
from contextfind.ports.company import Company
from contextfind.ports.housekeeping import BlobPresence, Chore, Swept
from contextfind.ports.reach import Reach
from contextfind.ports.reindexing import ReindexedStore


class HouseStore(ReindexedStore, Protocol):
    """A record store that knows which embedder made its vectors."""

    async def fingerprint(self) -> str | None:
        """Return which embedder made the vectors, None when nobody has said yet."""
        ...

    async def set_fingerprint(self, fingerprint: str) -> None:
        """Note which embedder makes the vectors from now on."""
        ...

    async def forget_vectors(self, fingerprint: str | None = None) -> int:
        """Drop every vector, log the records that had passages, and return the position.

        fingerprint: of the embedder that makes them from now on, noted at the same moment. None: the same one.
        """
        ...


class HouseShelf(UploadShelf, Protocol):
    """An upload shelf that is cleared now and then."""

    async def sweep(self, age: timedelta) -> int:
        """Drop uploads that are older, and return how many those were."""
        ...


class Upkeep(Protocol):
    """What a backend wants done behind the requests."""

    @property
    def writes(self) -> int:
        """How often this process has written; chores do not count."""
        ...

    async def reach(self) -> Reach:
        """Return from which positions of the log an index can go on."""
        ...

    def note_followed(self, position: int) -> None:
        """Learn that every index stands at least at a log position, or will begin at 0."""
        ...

    @property
    def chores(self) -> Sequence[Chore]:
        """What the engine itself leaves behind; `rewrite` takes all of that away too."""
        ...

    def loose_blobs(self, grace: float) -> Chore:
        """Return the chore of removing what no record names; grace: seconds between reading a record and its blob."""
        ...

    def repairs(self, presence: BlobPresence | None = None) -> Sequence[Chore]:
        """Return what is looked for, and put right, once after a start.

        presence: says which texts are there, in the place of whoever keeps them.
        """
        ...

    async def sizes(self) -> Mapping[str, float]:
        """Return the bytes on disk by part: `database`, and `index` where that lies beside it; bodies do not count."""
        ...

    async def rewrite(self) -> Swept:
        """Make what is kept as dense as it can be; everybody may have to wait meanwhile.

        Raises:
            UnavailableError: no room; nothing has changed then.

        """
        ...


@dataclass(frozen=True, slots=True)
class Storage:
    """The stores of one backend.

    place: where that is, for messages. named_by: the option of `contextfind serve` that names it, and a space.
    """

    place: str
    named_by: str
    store: HouseStore
    blobs: BlobStore
    identities: IdentityStore
    jobs: JobStore
    sessions: SessionStore
    uploads: HouseShelf
    upkeep: Upkeep
    company: Company
