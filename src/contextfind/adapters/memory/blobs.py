"""Blob store in a dict."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from contextfind.domain.errors import NotFoundError
from contextfind.ports.housekeeping import NameKeys, Swept, key_of


class MemoryBlobs:
    """`BlobStore` and `BlobSweep` without files."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}
        self._held: set[str] | None = None
        self._filings: set[asyncio.Event] = set()

    async def put(self, blobs: Sequence[bytes]) -> Sequence[str]:
        """See `BlobStore.put`."""
        digests = [hashlib.sha256(blob).hexdigest() for blob in blobs]
        self._blobs |= dict(zip(digests, blobs, strict=True))
        if self._held is not None:
            self._held.update(digests)
        return digests

    async def get(self, digest: str) -> bytes:
        """See `BlobStore.get`."""
        if digest not in self._blobs:
            raise NotFoundError(f"there is no blob {digest!r}", {"digest": digest})
        return self._blobs[digest]

    async def read(self, digests: Sequence[str]) -> Sequence[bytes | None]:
        """See `BlobStore.read`."""
        return [self._blobs.get(digest) for digest in digests]

    async def absent(self, digests: Sequence[str]) -> Sequence[str]:
        """See `BlobPresence.absent`."""
        return [digest for digest in digests if digest not in self._blobs]

    @property
    def shelves(self) -> Sequence[str]:
        """See `BlobSweep.shelves`."""
        return ("",)

    @contextmanager
    def filing(self) -> Iterator[None]:
        """See `BlobStore.filing`."""
        closed = asyncio.Event()
        self._filings.add(closed)
        try:
            yield
        finally:
            self._filings.remove(closed)
            closed.set()

    async def watch(self) -> None:
        """See `BlobSweep.watch`."""
        self._held = set()
        for closed in list(self._filings):
            await closed.wait()

    def rest(self) -> None:
        """See `BlobSweep.rest`."""
        self._held = None

    async def sweep(self, shelf: str, named: NameKeys) -> Swept:
        """See `BlobSweep.sweep`."""
        del shelf  # there is one
        if self._held is None:
            return Swept()
        wanted = set(named.tolist())
        loose = [
            digest
            for digest in self._blobs
            if digest not in self._held and key_of(digest) not in wanted
        ]
        return sum((Swept(1, len(self._blobs.pop(digest))) for digest in loose), Swept())
