"""The numbers that a writing transaction gives out: ids of records, marks, positions of the log.

They come from the one row of `head`, not from sequences: a transaction that is undone uses none up, and those who
follow the log see it without a gap. Whoever opens a ledger is the only writer (`Database.commit`).

No position means two states. Where an older state of the tables was put back, or a standby took over that lacked the last of
the log, the first process that knows of a later position leaves a gap, and notes what was lost: an index that stands
there cannot go on, and a write that was told such a position is no more.
"""

from psycopg import AsyncConnection

from contextfind.adapters.postgres.rows import slices

LOST = "log_lost"  # in `meta`: the first and the last position of the last gap
KNOWN = "contextfind.known"  # a setting of the transaction: the last position that this process has heard of
_GAP = (
    100_000  # positions; what another process may know and this one does not is of the last second
)

_OPEN = (
    "SELECT position, record, mark,"  # noqa: S608 - fixed text
    f" coalesce(nullif(current_setting('{KNOWN}', true), '')::bigint, 0) FROM head"
)
_NOTE = (
    "INSERT INTO meta (key, value) VALUES (%s, %s)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)


class Ledger:
    """Counts on from where the last transaction ended; nothing is written before `settle`.

    position: of the last entry of the log. known: the last one that this process ever heard of.
    """

    def __init__(
        self, connection: AsyncConnection, position: int, record: int, mark: int, known: int
    ) -> None:
        self._connection = connection
        self._end = position
        # Each record and each mark that was lost took a position at least.
        gap = known - position + _GAP if known > position else 0
        self._lost = range(position + 1, position + gap + 1)
        self._record = record + gap
        self._mark = mark + gap
        self._noted: dict[int, int] = {}
        self.position = position + gap

    @classmethod
    async def open(cls, connection: AsyncConnection) -> "Ledger":
        """Read where the last transaction ended."""
        cursor = await connection.execute(_OPEN)
        row = await cursor.fetchone()
        return cls(connection, *(row or (0, 0, 0, 0)))

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
        """Write everything down, and return the position; a gap that nothing comes behind is none."""
        if not self._noted:
            self.position, self._lost = self._end, range(0)
        for noted in slices(list(self._noted)):
            await self._connection.execute(
                "INSERT INTO log (record, position) SELECT * FROM unnest(%s::bigint[], %s::bigint[])"
                " ON CONFLICT (record) DO UPDATE SET position = excluded.position",
                (noted, [self._noted[record] for record in noted]),
            )
        if self._lost:
            ends = f"{self._lost[0]} {self._lost[-1]}"
            await self._connection.execute(_NOTE, (LOST, ends))
        await self._connection.execute(
            "UPDATE head SET position = %s, record = %s, mark = %s"
            " WHERE (position, record, mark) <> (%s, %s, %s)",
            (self.position, self._record, self._mark) * 2,
        )
        return self.position
