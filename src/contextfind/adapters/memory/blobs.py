"""Blob store in a dict."""

import hashlib
from collections.abc import Sequence

from contextfind.domain.errors import NotFoundError


class MemoryBlobs:
    """`BlobStore` without files."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    async def put(self, blobs: Sequence[bytes]) -> Sequence[str]:
        """See `BlobStore.put`."""
        digests = [hashlib.sha256(blob).hexdigest() for blob in blobs]
        self._blobs |= dict(zip(digests, blobs, strict=True))
        return digests

    async def get(self, digest: str) -> bytes:
        """See `BlobStore.get`."""
        if digest not in self._blobs:
            raise NotFoundError(f"there is no blob {digest!r}", {"digest": digest})
        return self._blobs[digest]
