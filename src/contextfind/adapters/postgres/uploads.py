"""Uploads in PostgreSQL: sent to one process, they are added by any other."""

import asyncio
import io
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import BinaryIO, NamedTuple, Protocol

from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.texts import restored, storable
from contextfind.domain.identity import Identity
from contextfind.domain.times import microseconds
from contextfind.ports import Clock, IdMaker
from contextfind.ports.sources import FileSource, last_segment, too_large, unknown_upload

_PIECE = 1024 * 1024  # bytes in memory at once, however large an upload is
_NOTE = 'SELECT name, pieces FROM uploads WHERE id = %s AND account = %s AND "user" = %s'
_PUT = 'INSERT INTO uploads (id, account, "user", name, created_at, pieces) VALUES (%s, %s, %s, %s, %s, 0)'
_PUT_PIECE = "INSERT INTO pieces (account, upload, number, bytes) VALUES (%s, %s, %s, %b)"
_READ_PIECE = "SELECT bytes FROM pieces WHERE upload = %s AND number = %s"


class Spool(Protocol):
    """Copies of uploads on the disk of this process, which sources are read from."""

    async def held(self) -> Sequence[str]: ...  # noqa: D102 - see `adapters/files/spool`
    async def forget(self, uploads: Sequence[str]) -> None: ...  # noqa: D102 - see `adapters/files/spool`
    async def source(  # noqa: D102 - see `adapters/files/spool`
        self, upload: str, uploaded_as: str, shown: str, pieces: AsyncIterator[bytes]
    ) -> FileSource: ...


class _Note(NamedTuple):
    """What an upload was called, and how many pieces it has."""

    name: str
    pieces: int


class PostgresShelf:
    """`UploadShelf` in a schema that several processes share; who reads an upload copies it to its own disk first.

    limit: bytes of one upload. ids: fresh random names, letters, digits, `_` and `-` only.
    """

    def __init__(
        self, database: Database, spool: Spool, ids: IdMaker, clock: Clock, limit: int
    ) -> None:
        self._database = database
        self._spool = spool
        self._ids = ids
        self._clock = clock
        self._limit = limit

    async def put(self, identity: Identity, name: str, data: bytes | BinaryIO) -> str:
        """See `UploadShelf.put`; it is there whole, or not at all."""
        upload = f"upload_{self._ids()}"
        stream = io.BytesIO(data) if isinstance(data, bytes) else data
        shown = storable(last_segment(name) or upload)
        account, born = identity.account, microseconds(self._clock())

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(_PUT, (upload, account, identity.user, shown, born))
            size = number = 0
            while piece := await asyncio.to_thread(stream.read, _PIECE):
                size += len(piece)
                if size > self._limit:
                    raise too_large(self._limit)
                await connection.execute(_PUT_PIECE, (account, upload, number, piece))
                number += 1
            await connection.execute(
                "UPDATE uploads SET pieces = %s WHERE id = %s", (number, upload)
            )

        await self._database.write(work)
        return upload

    async def source(self, identity: Identity, temp_file_id: str, name: str | None) -> FileSource:
        """See `UploadShelf.source`."""
        note = await self._note(identity, temp_file_id)
        if note is None:
            raise unknown_upload(temp_file_id)
        await self._forget_dropped()
        pieces = self._pieces(identity.account, temp_file_id, note.pieces)
        return await self._spool.source(temp_file_id, note.name, name or note.name, pieces)

    async def drop(self, temp_file_id: str) -> None:
        """See `UploadShelf.drop`."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute("DELETE FROM uploads WHERE id = %s", (storable(temp_file_id),))

        await self._database.write(work)
        await self._spool.forget([temp_file_id])

    async def sweep(self, age: timedelta) -> int:
        """Drop the uploads older than `age` and return how many they were."""
        before = microseconds(self._clock() - age)

        async def work(connection: AsyncConnection) -> int:
            statement = "DELETE FROM uploads WHERE created_at < %s"
            return (await connection.execute(statement, (before,))).rowcount

        return await self._database.tidy(work)

    async def _note(self, identity: Identity, upload: str) -> _Note | None:
        async def work(connection: AsyncConnection) -> _Note | None:
            values = (storable(upload), identity.account, identity.user)
            row = await (await connection.execute(_NOTE, values)).fetchone()
            return None if row is None else _Note(restored(row[0]), row[1])

        return await self._database.read(identity.account, work)

    async def _pieces(self, account: str, upload: str, count: int) -> AsyncIterator[bytes]:
        for number in range(count):

            async def work(connection: AsyncConnection, number: int = number) -> bytes | None:
                cursor = connection.cursor(binary=True)
                await cursor.execute(_READ_PIECE, (upload, number))
                row = await cursor.fetchone()
                return None if row is None else bytes(row[0])

            piece = await self._database.read(account, work)
            if piece is None:  # dropped meanwhile
                raise unknown_upload(upload)
            yield piece

    async def _forget_dropped(self) -> None:
        """Let go of the copies of what another process has dropped."""
        held = await self._spool.held()

        async def work(connection: AsyncConnection) -> set[str]:
            query = "SELECT id FROM uploads WHERE id = ANY(%s)"
            cursor = await connection.execute(query, (list(held),))
            return {str(row[0]) for row in await cursor.fetchall()}

        if held:
            there = await self._database.glance(work)
            await self._spool.forget([upload for upload in held if upload not in there])
