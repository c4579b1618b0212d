"""Immutable bytes under their SHA-256, in PostgreSQL."""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import TypeVar

import zstandard
from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database
from contextfind.domain.errors import DamagedError, NotFoundError
from contextfind.ports.fault_points import FaultPoint, reached
from contextfind.ports.housekeeping import Chore, Swept

_log = logging.getLogger(__name__)

_DIGEST = re.compile(r"[0-9a-f]{64}")
_THREADS = 2  # hashing and packing let go of the interpreter: as many as a small machine has cores
_SMALL = 256  # bytes: below that packing saves less than a row costs
_WORTH = 0.9  # of the size: a picture is kept as it is, unpacking costs more than the disk
_LEVEL = 3  # of zstd: 300 MB/s on text, to a third
_MOST = 500  # blobs of one statement
_MOST_BYTES = 8_000_000  # or so many bytes: what a statement is in memory, here and there
_PAGE = 2_000  # blobs looked at in one statement of a sweep: some 20 ms
# A blob that nobody names is kept so long: whoever has put it may not have committed yet. Every wait between put and
# commit is bounded by minutes; a day outlasts a machine that was suspended meanwhile too.
GRACE = timedelta(days=1)  # half of it, for a put of what was put before: see `_PUT`
_READERS = 2.0  # seconds between reading a record and reading its blob, at the very most

# A blob is put every time before it is named: its `put_at` tells a sweep. It is written again when it is damaged, or when
# half of the grace has gone by; else a put of what is there only looks at it.
_PUT = (
    "INSERT INTO blobs (digest, bytes, packed, put_at)"
    " SELECT digest, bytes, packed, now() FROM unnest(%s::text[], %b::bytea[], %s::boolean[])"
    " AS new (digest, bytes, packed)"
    " ON CONFLICT (digest) DO UPDATE SET bytes = EXCLUDED.bytes, packed = EXCLUDED.packed, put_at = now()"
    " WHERE blobs.put_at < now() - %s OR blobs.bytes <> EXCLUDED.bytes"
)
_READ = "SELECT digest, bytes, packed FROM blobs WHERE digest = ANY(%s)"
_LOOSE = (
    "put_at < now() - %(grace)s"
    " AND NOT EXISTS (SELECT 1 FROM records WHERE content = digest)"
    " AND NOT EXISTS (SELECT 1 FROM records WHERE source = digest AND source <> content)"
)
_LOOK = (
    "WITH page AS (SELECT digest, put_at FROM blobs"  # noqa: S608 - fixed text, bound values
    " WHERE digest > %(after)s ORDER BY digest LIMIT %(limit)s)"
    f" SELECT max(digest), array_agg(digest) FILTER (WHERE {_LOOSE}) FROM page"
)
_SWEEP = (
    f"DELETE FROM blobs WHERE digest = ANY(%(digests)s) AND {_LOOSE}"  # noqa: S608 - fixed text, bound values
    " RETURNING octet_length(bytes)"
)

Sleep = Callable[[float], Awaitable[None]]
A = TypeVar("A")
B = TypeVar("B")
_Row = tuple[str, bytes, bool]  # digest, bytes, whether they are packed


class PostgresBlobs:
    """`BlobStore` and `BlobPresence` in a schema that several processes share."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pool = ThreadPoolExecutor(_THREADS, "blobs")

    def filing(self) -> AbstractContextManager[None]:
        """See `BlobStore.filing`; here it is the grace that keeps what was put."""
        return nullcontext()

    async def put(self, blobs: Sequence[bytes]) -> Sequence[str]:
        """See `BlobStore.put`."""
        rows = await self._hop(_packed, blobs)
        once = {row[0]: row for row in rows}
        for part in _parts(
            [once[digest] for digest in sorted(once)]
        ):  # in one order for all: no circles
            await self._write(part)
        reached(FaultPoint.AFTER_BLOBS)
        return [row[0] for row in rows]

    async def get(self, digest: str) -> bytes:
        """See `BlobStore.get`.

        Raises:
            DamagedError: what lies there is not what was put.

        """
        rows = await self._rows([digest])
        if not rows:
            raise NotFoundError(f"there is no blob {digest!r}", {"digest": digest})
        (blob,) = await self._hop(_unpacked, rows)
        if blob is None:
            raise DamagedError(f"blob {digest} is damaged in the database", {"digest": digest})
        return blob

    async def read(self, digests: Sequence[str]) -> Sequence[bytes | None]:
        """See `BlobStore.read`."""
        rows = await self._rows(digests)
        blobs = await self._hop(_unpacked, rows) if rows else []
        known = {row[0]: blob for row, blob in zip(rows, blobs, strict=True)}
        return [known.get(digest) for digest in digests]

    async def absent(self, digests: Sequence[str]) -> Sequence[str]:
        """See `BlobPresence.absent`."""

        async def work(connection: AsyncConnection) -> set[str]:
            query = "SELECT digest FROM blobs WHERE digest = ANY(%s)"
            cursor = await connection.execute(query, (_wellformed(digests),))
            return {str(row[0]) for row in await cursor.fetchall()}

        there = await self._database.glance(work)
        return [digest for digest in digests if digest not in there]

    def loose(self, readers: float = _READERS, sleep: Sleep = asyncio.sleep) -> Chore:
        """Return the chore of removing blobs that no record names any more, or ever named.

        readers: seconds that somebody may need between reading a record and its blob. 0: nobody reads or writes; then
        nothing is kept for a day, unless another process lives.
        """

        async def steps() -> AsyncGenerator[Swept, None]:
            after = ""
            while True:
                grace = GRACE if readers > 0 or await self._others() else timedelta()
                last, loose = await self._look(after, grace)
                if last is None:
                    return
                after = last
                if loose:
                    await sleep(readers)
                yield await self._sweep(loose, grace) if loose else Swept()

        return Chore("loose blobs", steps)

    async def aclose(self) -> None:
        """Finish what was begun and end the threads."""
        await asyncio.to_thread(self._pool.shutdown)

    async def _others(self) -> bool:
        presence = self._database.presence
        return bool(await self._database.glance(presence.living) - {presence.worker})

    async def _write(self, rows: Sequence[_Row]) -> None:
        digests, blobs, packed = zip(*rows, strict=True)

        async def work(connection: AsyncConnection) -> None:
            values = (list(digests), list(blobs), list(packed), GRACE / 2)
            await connection.execute(_PUT, values)
            reached(FaultPoint.MID_BLOB)

        await self._database.write(work)

    async def _rows(self, digests: Sequence[str]) -> Sequence[_Row]:
        wanted = _wellformed(digests)

        async def work(connection: AsyncConnection) -> Sequence[_Row]:
            cursor = connection.cursor(binary=True)
            await cursor.execute(_READ, (wanted,))
            return [(row[0], row[1], row[2]) for row in await cursor.fetchall()]

        return await self._database.glance(work) if wanted else []

    async def _look(self, after: str, grace: timedelta) -> tuple[str | None, Sequence[str]]:
        """Return the last one of a page of blobs, None where there are none, and those of them that are loose."""

        async def work(connection: AsyncConnection) -> tuple[str | None, Sequence[str]]:
            values = {"after": after, "limit": _PAGE, "grace": grace}
            row = await (await connection.execute(_LOOK, values)).fetchone()
            return (None, []) if row is None else (row[0], row[1] or [])

        return await self._database.glance(work)

    async def _sweep(self, digests: Sequence[str], grace: timedelta) -> Swept:
        async def work(connection: AsyncConnection) -> Swept:
            cursor = await connection.execute(_SWEEP, {"digests": list(digests), "grace": grace})
            sizes = [int(row[0]) for row in await cursor.fetchall()]
            if sizes:
                reached(FaultPoint.MID_SWEEP)
            return Swept(len(sizes), sum(sizes))

        return await self._database.tidy(work)

    async def _hop(self, work: Callable[[A], B], argument: A) -> B:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, argument)


def _wellformed(digests: Sequence[str]) -> list[str]:
    return [digest for digest in digests if _DIGEST.fullmatch(digest)]


def _packed(blobs: Sequence[bytes]) -> list[_Row]:
    """Return the rows of blobs, in order."""
    packer = zstandard.ZstdCompressor(level=_LEVEL)
    rows: list[_Row] = []
    for blob in blobs:
        digest = hashlib.sha256(blob).hexdigest()
        small = packer.compress(blob) if len(blob) > _SMALL else blob
        worth = len(small) < _WORTH * len(blob)
        rows.append((digest, small, True) if worth else (digest, blob, False))
    return rows


def _unpacked(rows: Sequence[_Row]) -> list[bytes | None]:
    """Return the blob of each row, in order; None for one that is not what was put."""
    unpacker = zstandard.ZstdDecompressor()
    blobs: list[bytes | None] = []
    for digest, stored, packed in rows:
        try:
            blob = unpacker.decompress(stored) if packed else stored
        except zstandard.ZstdError:
            blob = b""
        whole = hashlib.sha256(blob).hexdigest() == digest
        if not whole:
            _log.error("blob %s is not what was put there", digest)
        blobs.append(blob if whole else None)
    return blobs


def _parts(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """Cut rows into statements."""
    part: list[_Row] = []
    size = 0
    for row in rows:
        if part and (len(part) >= _MOST or size + len(row[1]) > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += len(row[1])
    if part:
        yield part
