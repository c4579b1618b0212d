"""Records that are taken elsewhere or get other tags, where they lie."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from psycopg import AsyncConnection

from contextfind.adapters.postgres.claims import disclaim_directories
from contextfind.adapters.postgres.conditions import Condition, at_or_below
from contextfind.adapters.postgres.kinds import Kinds
from contextfind.adapters.postgres.ledger import Ledger
from contextfind.adapters.postgres.rows import Row, as_json, clean_tags
from contextfind.adapters.postgres.texts import restored, storable
from contextfind.adapters.postgres.tree_rows import TreeRows
from contextfind.domain.documents import make_passage
from contextfind.domain.records import Level, context_type_of
from contextfind.domain.tags import retagged
from contextfind.domain.times import microseconds
from contextfind.domain.uri import Uri
from contextfind.ports.moves import MOST, Move, Retag, missing, taken, too_many

_SPOKEN_OF = "SELECT id, uri, level, abstract, origin, content, tags FROM records"
_COPIES = (  # of records at other addresses; times, counts, tags and bodies as they are
    "INSERT INTO records (id, account, owner, uri, parent, name, level, context_type, abstract, tags,"
    " created_at, updated_at, content, source, size, active_count, origin)"
    " SELECT there.id, account, there.owner, there.uri, there.parent, there.name, level,"
    " there.context_type, there.abstract, tags, created_at, updated_at, content, source, size,"
    " active_count, there.origin FROM json_to_recordset(%s) AS there (old bigint, id bigint, owner text,"
    " uri text, parent text, name text, context_type text, abstract text, origin text)"
    " JOIN records ON records.id = there.old"
)
_HAND_OVER = (
    "UPDATE passages SET record = there.record, context = there.context, digest = there.digest,"
    " pending = NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.digest = there.digest)"
    " FROM json_to_recordset(%s) AS there (id bigint, record bigint, context text, digest text)"
    " WHERE passages.id = there.id"
)


class Rearrangement:
    """What one commit rearranges in one account, in the writer's transaction."""

    def __init__(
        self, connection: AsyncConnection, account: str, rows: TreeRows, ledger: Ledger
    ) -> None:
        self._connection = connection
        self._account = account
        self._rows = rows
        self._ledger = ledger

    async def move(self, move: Move) -> list[Uri]:
        """Take everything to its new address; return those, in order.

        Raises:
            NotFoundError, AlreadyExistsError, ConflictError: see `RecordStore.commit`.

        """
        found = await self._at(at_or_below(move.source), move.source)
        if await self._any(move.target):
            raise taken(move.target)
        target = (move.target.text, Level.DETAIL.value)
        kinds = await Kinds.read(self._connection, self._account, [target])
        kinds.check(move.target, Level.DETAIL)
        stale = await self._take_stale(move.source)
        await self._take(move, found)
        if any(row[2] == Level.OVERVIEW and row[1] == move.source.text and row[5] for row in found):
            stale.add(move.source)
        for uri in sorted(stale):
            self._rows.mark_stale(move.address(uri))
        return list(dict.fromkeys(move.address(Uri(row[1])) for row in found))

    async def retag(self, retag: Retag, now: datetime) -> list[Uri]:
        """Give the tags; return the addresses they were given at, in order.

        Raises:
            NotFoundError: nothing lies there.

        """
        here = Condition("uri = %s", (retag.uri.text,))
        found = await self._at(at_or_below(retag.uri) if retag.recursive else here, retag.uri)
        spoken_of = [row for row in found if row[2] == Level.DETAIL or not retag.recursive]
        changed: dict[int, tuple[str, ...]] = {}
        for row in spoken_of:
            known = tuple(map(restored, row[6]))
            tags = clean_tags(retagged(known, retag.tags, retag.mode))
            if tags != known:
                changed[row[0]] = tags
                self._ledger.note(row[0])
        if changed:
            rows = [{"id": key, "tags": list(map(storable, tags))} for key, tags in changed.items()]
            await self._connection.execute(
                "UPDATE records SET tags = given.tags, updated_at = %s"
                " FROM json_to_recordset(%s) AS given (id bigint, tags text[]) WHERE records.id = given.id",
                (microseconds(now), as_json(rows)),
            )
            await self._rows.replace_tags(changed)
        return list(dict.fromkeys(Uri(row[1]) for row in spoken_of))

    async def _at(self, area: Condition, uri: Uri) -> list[Row]:
        cursor = await self._connection.execute(
            f"{_SPOKEN_OF} WHERE account = %s AND {area.sql} ORDER BY uri, level LIMIT %s",
            (self._account, *area.values, MOST + 1),
        )
        found = await cursor.fetchall()
        if not found:
            raise missing(uri)
        if len(found) > MOST:
            raise too_many(uri)
        return found

    async def _any(self, uri: Uri) -> bool:
        area = at_or_below(uri)
        cursor = await self._connection.execute(
            f"SELECT 1 FROM records WHERE account = %s AND {area.sql} LIMIT 1",  # noqa: S608 - fixed text, bound values
            (self._account, *area.values),
        )
        return await cursor.fetchone() is not None

    async def _take(self, move: Move, found: Sequence[Row]) -> None:
        """Make the records anew, give them what belongs to the old ones, and drop these."""
        ids: dict[int, int] = {}
        copies: list[dict[str, object]] = []
        for row in found:
            ids[row[0]] = self._ledger.next_record()
            copies.append({"old": row[0], "id": ids[row[0]], **_there(move, row)})
            self._ledger.note(row[0])
            self._ledger.note(ids[row[0]])
        old = list(ids)
        await self._rows.loosen(old)
        await self._connection.execute(_COPIES, (as_json(copies),))
        await self._hand_over(move, {row[0]: Uri(row[1]) for row in found}, ids)
        await self._connection.execute(
            "UPDATE tags SET record = there.record FROM unnest(%s::bigint[], %s::bigint[])"
            " AS there (old, record) WHERE tags.record = there.old",
            (old, list(ids.values())),
        )
        await self._connection.execute("DELETE FROM records WHERE id = ANY(%s)", (old,))

    async def _hand_over(
        self, move: Move, places: Mapping[int, Uri], ids: Mapping[int, int]
    ) -> None:
        """Give passages to their new records, with the context lines they have there."""
        cursor = await self._connection.execute(
            "SELECT id, record, heading, text, context FROM passages WHERE record = ANY(%s)",
            (list(ids),),
        )
        changed: list[dict[str, object]] = []
        for passage, record, heading, text, context in await cursor.fetchall():
            uri = places[record]
            line = storable(move.relabel(uri, move.address(uri), restored(context)))
            digest = make_passage(0, restored(heading), restored(text), restored(line)).digest
            row = {"id": passage, "record": ids[record], "context": line, "digest": digest}
            changed.append(row)
        if changed:
            await self._connection.execute(_HAND_OVER, (as_json(changed),))

    async def _take_stale(self, source: Uri) -> set[Uri]:
        """Return the directories at and below that are to be summarised, and forget them there."""
        area = at_or_below(source)
        cursor = await self._connection.execute(
            f"DELETE FROM stale WHERE account = %s AND {area.sql} RETURNING uri",  # noqa: S608 - fixed text, bound values
            (self._account, *area.values),
        )
        gone = [row[0] for row in await cursor.fetchall()]
        await disclaim_directories(self._connection, self._account, gone)
        return set(map(Uri, gone))


def _there(move: Move, row: Row) -> dict[str, object]:
    """Return what is another at the new address of a record."""
    uri = Uri(row[1])
    there = move.address(uri)
    parent = there.parent
    return {
        "owner": there.owner,
        "uri": there.text,
        "parent": "" if parent is None else parent.text,
        "name": there.name,
        "context_type": context_type_of(there).value,
        "abstract": storable(move.abstract(uri, restored(row[3]))),
        "origin": storable(move.origin(restored(row[4]))),
    }
