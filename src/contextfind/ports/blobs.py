"""Bodies of records: bytes by their digest, and the texts they are."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from contextfind.domain.errors import DamagedError, NotFoundError
from contextfind.domain.records import Record


class BlobStore(Protocol):
    """Immutable bytes by their SHA-256; those that no record names are taken away some day."""

    def filing(self) -> AbstractContextManager[None]:
        """Open it around a put and the commit that names what was put: nothing of it is taken away before."""
        ...

    async def put(self, blobs: Sequence[bytes]) -> Sequence[str]:
        """Store each, durably, and return the digests (64 hex digits) in order."""
        ...

    async def get(self, digest: str) -> bytes:
        """Return the bytes.

        Raises:
            NotFoundError: no such blob.

        """
        ...

    async def read(self, digests: Sequence[str]) -> Sequence[bytes | None]:
        """Return the bytes of each, in order; None for one that is lost or cannot be read."""
        ...


async def body_of(record: Record, blobs: BlobStore) -> str:
    """Return the whole text of a record: its blob, or the abstract where that is all there is.

    Raises:
        DamagedError: the blob is lost, or not what was stored. UnavailableError: the disk does not answer.

    """
    if not record.content:
        return record.abstract
    try:
        blob = await blobs.get(record.content)
    except (NotFoundError, DamagedError) as fault:
        raise DamagedError(
            f"the text of {record.uri.text!r} is lost on the server's disk; write it again, "
            "or have the data restored from a backup",
            {"resource": record.uri.text},
        ) from fault
    return blob.decode("utf-8", "replace")


async def bodies_of(records: Sequence[Record], blobs: BlobStore) -> Sequence[str | None]:
    """Return the whole text of each record, in order; None where its blob is lost or cannot be read."""
    digests = list(dict.fromkeys(record.content for record in records if record.content))
    blobs_of = dict(zip(digests, await blobs.read(digests), strict=True)) if digests else {}
    bodies: list[str | None] = []
    for record in records:
        blob = blobs_of.get(record.content)
        only = None if record.content else record.abstract
        bodies.append(only if blob is None else blob.decode("utf-8", "replace"))
    return bodies
