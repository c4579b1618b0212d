"""What makes `contextfind.db` small again, in steps that a write hardly waits for."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from itertools import count

import numpy as np

from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.forgetting import forget, forgotten, gone_entries
from contextfind.adapters.sqlite.sessions import unbury
from contextfind.domain.records import RecordId
from contextfind.ports.housekeeping import Chore, NameKeys, Swept, key_of

_PAGES = 64  # given back in one transaction: 1 ms of work and a quarter of a megabyte to sync
# After so many steps the log is written back beside the writer. At 1,000 pages SQLite would do it itself, inside a
# commit, and whoever writes next would wait for that.
_STEPS = 10
# Free pages that stay for the next writes: taking them away only to ask the disk again is of no use.
_RESERVE = 256
_RESERVE_SHARE = 64  # or this part of the file
_INCREMENTAL = 2  # what `PRAGMA auto_vacuum` says of a file that can give single pages back
_DIGEST = re.compile(r"[0-9a-f]{64}")


class SqliteCompaction:
    """`BlobNames`, and the chores of the file itself."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._followed = 0

    @property
    def writes(self) -> int:
        """How often anybody has written since the file was opened; chores do not count."""
        return self._database.writes

    @property
    def chores(self) -> Sequence[Chore]:
        """What there is to do, in this order: what frees pages, what gives them back, where they go."""
        return (
            Chore("messages of deleted sessions", self._messages),
            Chore("log entries of what is gone", self._entries),
            Chore("free pages", self._pages),
            Chore("write-ahead log", self._log),
        )

    async def forgotten(self) -> int:
        """Return the log position before which an index has to begin at 0: deletes may be missing there."""
        return await self._database.read(forgotten)

    def note_followed(self, position: int) -> None:
        """Learn that every index on disk stands at least at a log position, or will begin at 0."""
        self._followed = position

    async def settle(self) -> None:
        """See `BlobNames.settle`."""
        await self._database.tidy(_nothing)

    async def named(self, after: RecordId, limit: int) -> tuple[Sequence[RecordId], NameKeys]:
        """See `BlobNames.named`."""
        return await self._database.read(lambda c: _named(c, after, limit))

    async def rewrite(self) -> Swept:
        """Write the whole file anew, as dense as it can be; needs room for it twice, and everybody waits.

        Raises:
            UnavailableError: no room on the disk; nothing has changed then.

        """
        while await self._database.tidy(unbury) > 0:
            pass
        log = await asyncio.to_thread(self._database.cut_log)
        before = log + await asyncio.to_thread(self._database.size)
        await self._database.rewrite()
        return Swept(0, before - await asyncio.to_thread(self._database.size))

    async def _messages(self) -> AsyncGenerator[Swept, None]:
        while (gone := await self._database.tidy(unbury)) > 0:
            yield Swept(gone)

    async def _entries(self) -> AsyncGenerator[Swept, None]:
        seen, upto = await self.forgotten(), self._followed
        while seen < upto:
            seen, gone = await self._database.read(partial(gone_entries, after=seen, upto=upto))
            await self._database.tidy(partial(forget, gone=gone, upto=seen))
            yield Swept(len(gone))

    async def _pages(self) -> AsyncGenerator[Swept, None]:
        for number in count(1):
            swept = await self._database.tidy(_give_back)
            if swept.things == 0:
                return
            yield swept
            if number % _STEPS == 0:
                await asyncio.to_thread(self._database.cut_log)

    async def _log(self) -> AsyncGenerator[Swept, None]:
        freed = await asyncio.to_thread(self._database.cut_log)
        yield Swept(int(freed > 0), freed)


def _nothing(connection: sqlite3.Connection) -> None:
    del connection


def _give_back(connection: sqlite3.Connection) -> Swept:
    """Move pages from the end of the file into free ones before, as far as that is worth it.

    The file gets shorter when the log is written back. A file made before contextfind could do this has nothing
    to give back: its free pages wait for the next writes.
    """
    (kind,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    spare = free - max(_RESERVE, pages // _RESERVE_SHARE)
    if kind != _INCREMENTAL or spare <= 0:
        return Swept()
    count = min(spare, _PAGES)
    for _ in range(count):  # the module steps a statement once, and a step frees one page
        connection.execute("PRAGMA incremental_vacuum(1)")
    return Swept(count, count * size)


def _named(
    connection: sqlite3.Connection, after: RecordId, limit: int
) -> tuple[Sequence[RecordId], NameKeys]:
    rows = connection.execute(
        "SELECT id, content, source FROM records WHERE id > ? ORDER BY id LIMIT ?", (after, limit)
    ).fetchall()
    digests = [digest for row in rows for digest in row[1:] if _DIGEST.fullmatch(digest)]
    keys = np.array([key_of(digest) for digest in digests], np.uint64)
    return [RecordId(row[0]) for row in rows], keys
