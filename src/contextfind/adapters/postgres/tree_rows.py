"""The rows of one account's tree: what a commit and an import both do to them, many at a time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from psycopg import AsyncConnection

from contextfind.adapters.postgres.claims import disclaim
from contextfind.adapters.postgres.kinds import Kinds
from contextfind.adapters.postgres.ledger import Ledger
from contextfind.adapters.postgres.rows import (
    PASSAGE_COLUMNS,
    RECORD_COLUMNS,
    as_json,
    columns,
    passage_fields,
    passage_of,
    record_fields,
    record_of,
    slices,
)
from contextfind.adapters.postgres.texts import storable
from contextfind.domain.records import Level, Passage, Record, RecordId
from contextfind.domain.uri import Uri

_TYPES = (
    "id bigint, account text, owner text, uri text, parent text, name text, level smallint,"
    " context_type text, abstract text, tags text[], created_at bigint, updated_at bigint,"
    " content text, source text, size bigint, active_count bigint, origin text"
)
_NAMES = ", ".join(one.split()[0] for one in _TYPES.split(", "))
_CHANGES = ", ".join(f"{name} = changed.{name}" for name in _NAMES.split(", ")[1:])
_INSERT = (
    f"INSERT INTO records ({_NAMES}) SELECT {_NAMES} FROM json_to_recordset(%s) AS made ({_TYPES})"  # noqa: S608 - fixed text
)
_UPDATE = (
    f"UPDATE records SET {_CHANGES} FROM json_to_recordset(%s) AS changed ({_TYPES})"  # noqa: S608 - fixed text
    " WHERE records.id = changed.id"
)
_AT = (
    f"SELECT {columns(RECORD_COLUMNS, 'records')} FROM unnest(%s::text[], %s::smallint[]) AS w (place, depth)"  # noqa: S608 - fixed text
    " JOIN records ON account = %s AND uri = w.place AND level = w.depth"
)
_HELD = f"SELECT record, {PASSAGE_COLUMNS} FROM passages WHERE record = ANY(%s) ORDER BY record, ordinal"  # noqa: S608 - fixed text
_PASSAGES = (  # in the order given: as they came is how they are embedded
    f"INSERT INTO passages (account, record, later, pending, {PASSAGE_COLUMNS})"  # noqa: S608 - fixed text
    " SELECT %s, record, later, NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = one.digest),"
    f" {PASSAGE_COLUMNS} FROM json_to_recordset(%s) AS one (n integer, record bigint, later boolean,"
    " ordinal integer, heading text, text text, context text, digest text) ORDER BY n"
)
_UNUSED = (
    "SELECT gone FROM unnest(%s::text[]) AS gone"
    " WHERE NOT EXISTS (SELECT 1 FROM passages WHERE digest = gone)"
)
Place = tuple[str, int]  # address and level


@dataclass(frozen=True, slots=True)
class Held:
    """A record as it stands in this transaction, with its passages."""

    record: Record
    passages: tuple[Passage, ...]


class TreeRows:
    """Reads the rows at some places of an account, changes them in memory, and writes all at once.

    loose: digests whose passages went away; their vectors may have no use any more.
    """

    def __init__(self, connection: AsyncConnection, account: str, ledger: Ledger) -> None:
        self.loose: set[str] = set()
        self._connection = connection
        self._account = account
        self._ledger = ledger
        self._held: dict[Place, Held] = {}
        self._kinds = Kinds()
        self._known: set[int] = set()  # ids of records that have a row
        self._written: dict[int, Record] = {}
        self._passages: dict[int, Held] = {}
        self._stale: dict[Uri, int] = {}

    async def look(self, places: Iterable[tuple[Uri, Level]]) -> None:
        """Read what stands at all places that are going to be written."""
        wanted = list(dict.fromkeys((uri.text, level.value) for uri, level in places))
        if not wanted:
            return
        addresses, levels = [uri for uri, _ in wanted], [level for _, level in wanted]
        found = await self._connection.execute(_AT, (addresses, levels, self._account))
        records = [record_of(row) for row in await found.fetchall()]
        self._known = {record.id for record in records}
        rows = await self._connection.execute(_HELD, (list(self._known),)) if records else None
        held = groupby(await rows.fetchall() if rows else (), key=itemgetter(0))
        passages = {record: tuple(passage_of(row[1:]) for row in group) for record, group in held}
        for record in records:
            place = (record.uri.text, record.level.value)
            self._held[place] = Held(record, passages.get(record.id, ()))
        new = [place for place in wanted if place not in self._held]
        self._kinds = await Kinds.read(self._connection, self._account, new)

    def at(self, uri: Uri, level: Level) -> Held | None:
        """Return what stands at a place that was looked at."""
        return self._held.get((uri.text, level.value))

    def keep(self, record: Record, passages: tuple[Passage, ...]) -> None:
        """Store and log a record with its passages: in the place of the one that stands there, else under a new id.

        Raises:
            ConflictError: a file where a directory is, or a directory where a file is.

        """
        known = self.at(record.uri, record.level)
        if known is None:
            self._kinds.add(record.uri, record.level)
            record = replace(record, id=RecordId(self._ledger.next_record()))
        held = Held(record, passages)
        self._held[record.uri.text, record.level.value] = held
        self._written[record.id] = record
        if known is None or known.passages != passages:
            self._passages.pop(record.id, None)  # it comes last now
            self._passages[record.id] = held
        self._ledger.note(record.id)

    def mark_stale(self, uri: Uri) -> None:
        """Have the summaries of a directory written again."""
        self._stale[uri] = self._ledger.next_mark()

    async def write(self) -> None:
        """Write down what was kept."""
        made = [one for one in self._written.values() if one.id not in self._known]
        changed = [one for one in self._written.values() if one.id in self._known]
        if made:
            await self._connection.execute(_INSERT, (as_json(map(record_fields, made)),))
        if changed:
            await self._connection.execute(_UPDATE, (as_json(map(record_fields, changed)),))
        await self._write_passages()
        await self._drop_tags([one.id for one in changed])
        await self._write_tags({one.id: one.tags for one in (*made, *changed)})

    async def replace_tags(self, tags: Mapping[int, tuple[str, ...]]) -> None:
        """Write the tags of records in the place of those they have."""
        await self._drop_tags(list(tags))
        await self._write_tags(tags)

    async def write_stale(self) -> None:
        """Write the marks down."""
        if not self._stale:
            return
        await self._connection.execute(
            "INSERT INTO stale (account, uri, depth, mark)"
            " SELECT %s, * FROM unnest(%s::text[], %s::integer[], %s::bigint[])"
            " ON CONFLICT (account, uri) DO UPDATE SET mark = excluded.mark",
            (
                self._account,
                [uri.text for uri in self._stale],
                [len(uri.segments) for uri in self._stale],
                list(self._stale.values()),
            ),
        )
        self._stale = {}

    async def drop_loose_vectors(self) -> None:
        """Delete the vectors that no passage uses any more, and forget who was to make them."""
        for some in slices(sorted(self.loose)):
            cursor = await self._connection.execute(_UNUSED, (some,))
            unused = [row[0] for row in await cursor.fetchall()]
            await self._connection.execute("DELETE FROM vectors WHERE digest = ANY(%s)", (unused,))
            await disclaim(self._connection, unused)

    async def loosen(self, records: Sequence[int]) -> None:
        """Note that the passages of records go."""
        for some in slices(records):
            found = await self._connection.execute(
                "SELECT DISTINCT digest FROM passages WHERE record = ANY(%s)", (some,)
            )
            self.loose.update(row[0] for row in await found.fetchall())

    async def _drop_tags(self, records: Sequence[int]) -> None:
        if records:
            await self._connection.execute("DELETE FROM tags WHERE record = ANY(%s)", (records,))

    async def _write_tags(self, tags: Mapping[int, tuple[str, ...]]) -> None:
        rows = [
            (key, tag) for key, held in tags.items() for tag in dict.fromkeys(map(storable, held))
        ]
        if rows:
            await self._connection.execute(
                "INSERT INTO tags (account, record, tag) SELECT %s, * FROM unnest(%s::bigint[], %s::text[])",
                (self._account, [key for key, _ in rows], [tag for _, tag in rows]),
            )

    async def _write_passages(self) -> None:
        replaced = [record for record in self._passages if record in self._known]
        if replaced:
            gone = await self._connection.execute(
                "DELETE FROM passages WHERE record = ANY(%s) RETURNING digest", (replaced,)
            )
            self.loose.update(row[0] for row in await gone.fetchall())
        rows = [
            {
                "record": record,
                "later": held.record.level is not Level.DETAIL,
                **passage_fields(one),
            }
            for record, held in self._passages.items()
            for one in held.passages
        ]
        if rows:
            ordered = ({"n": n, **row} for n, row in enumerate(rows))
            await self._connection.execute(_PASSAGES, (self._account, as_json(ordered)))
