"""The numbers that a writing transaction gives out: ids of records, marks, positions of the log.

They come from the one row of `head`, not from sequences: a transaction that is undone uses none up, and those who
follow the log see it without a gap. Whoever opens a ledger is the only writer (`Database.commit`).
"""

from psycopg import AsyncConnection

from contextfind.adapters.postgres.rows import slices


class Ledger:
    """Counts on from where the last transaction ended; nothing is written before `settle`.

    position: of the last entry of the log.
    """

    def __init__(self, connection: AsyncConnection, position: int, record: int, mark: int) -> None:
        self._connection = connection
        self._record = record
        self._mark = mark
        self._noted: dict[int, int] = {}
        self.position = position

    @classmethod
    async def open(cls, connection: AsyncConnection) -> "Ledger":
        """Read where the last transaction ended."""
        cursor = await connection.execute("SELECT position, record, mark FROM head")
        row = await cursor.fetchone()
        return cls(connection, *(row or (0, 0, 0)))

    def next_record(self) -> int:
        """Return an id that no record ever had."""
        self._record += 1
        return self._record

    def next_mark(self) -> int:
        """Return a mark that no directory ever had."""
        self._mark += 1
        return self._mark

    def note(self, record: int) -> None:
        """Make a record's entry the last one of the log."""
        self.position += 1
        self._noted[record] = self.position

    async def settle(self) -> int:
        """Write everything down, and return the position."""
        for noted in slices(list(self._noted)):
            await self._connection.execute(
                "INSERT INTO log (record, position) SELECT * FROM unnest(%s::bigint[], %s::bigint[])"
                " ON CONFLICT (record) DO UPDATE SET position = excluded.position",
                (noted, [self._noted[record] for record in noted]),
            )
        await self._connection.execute(
            "UPDATE head SET position = %s, record = %s, mark = %s"
            " WHERE (position, record, mark) <> (%s, %s, %s)",
            (self.position, self._record, self._mark) * 2,
        )
        return self.position
