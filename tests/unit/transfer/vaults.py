"""Stores, blobs and identities that an export leaves or enters."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.memory.identities import MemoryIdentityStore
from contextfind.adapters.memory.sessions import MemorySessionStore
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.identities import SqliteIdentityStore
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.adapters.sqlite.sessions import SqliteSessionStore
from contextfind.transfer.exporting import Choice, Exporter
from contextfind.transfer.importing import Brought, Importer
from contextfind.transfer.reader import ExportReader
from tests.builders import NOON

FINGERPRINT = "hash:words:8:r1"
EVERYTHING = Choice(compressed=False)


@dataclass(frozen=True, slots=True)
class Vault:
    """What one deployment holds."""

    store: MemoryRecordStore | SqliteRecordStore
    blobs: MemoryBlobs | FileBlobs
    identities: MemoryIdentityStore | SqliteIdentityStore
    sessions: MemorySessionStore | SqliteSessionStore

    async def exported(self, choice: Choice = EVERYTHING) -> bytes:
        """Return a file of what it holds."""
        stream = io.BytesIO()
        exporter = Exporter(self.store, self.blobs, self.identities, self.sessions)
        header = await exporter.header(choice, FINGERPRINT, NOON)
        await exporter.write(stream, header, choice, lambda done: None)  # noqa: ARG005
        return stream.getvalue()

    async def takes(self, data: bytes, fingerprint: str = FINGERPRINT) -> Brought:
        """Bring a file in."""
        importer = Importer(self.store, self.blobs, self.identities, self.sessions, lambda: NOON)
        reader = ExportReader(io.BytesIO(data))
        return await importer.read(reader, fingerprint, lambda brought: None)  # noqa: ARG005


def memory_vault() -> Vault:
    """Return an empty one without files."""
    return Vault(MemoryRecordStore(), MemoryBlobs(), MemoryIdentityStore(), MemorySessionStore())


@asynccontextmanager
async def disk_vault(directory: Path) -> AsyncIterator[Vault]:
    """Open one in a directory."""
    database = await Database.open(directory)
    blobs = FileBlobs(directory / "blobs")
    try:
        yield Vault(
            SqliteRecordStore(database),
            blobs,
            SqliteIdentityStore(database),
            SqliteSessionStore(database),
        )
    finally:
        await blobs.aclose()
        await database.aclose()


def record_lines(data: bytes) -> list[bytes]:
    """Return the lines of records in a plain file."""
    return [line for line in data.splitlines() if line.startswith(b'{"record"')]
