"""What is asked of the database to answer a probe.

Whatever a statement reads, it reads the entries too, and only of those that the scope allows: they are behind row-level
security, so a statement that forgot the scope would find nothing. The words of a whole account are the exception:
keys are made of whose they are, and what is found by them is read by `facts` before it is told.
"""

# ruff: noqa: S608 - names of our own tables; every value is bound

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from contextfind.adapters.postgres.conditions import Condition, compiled, conjunction, within
from contextfind.adapters.postgres.index_rules import Effort
from contextfind.adapters.postgres.index_schema import Tables
from contextfind.adapters.postgres.index_values import Numbers, longs
from contextfind.domain.filters import And, Everything, Filter, Numbered, OneOf
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, SCHEME

Rows = list[tuple[Any, ...]]
# Statements to be run together, sent back as the rows of each.
Steps = Generator[list["Statement"], list[Rows], Any]

_FOLDER = f"(CASE WHEN parent IN ('', '{SCHEME}') THEN parent ELSE parent || '/' END) COLLATE \"C\""
_TREE_ORDER = f"{_FOLDER}, name, level"


@dataclass(frozen=True, slots=True)
class Statement:
    """A piece of SQL, the values of its placeholders in order, and whose rows it may see.

    effort: what a graph may do; None where none is asked. kept: one plan does for all values; how much a filter or a
    target keeps says which plan is a good one, so those statements are planned each time.
    """

    sql: str
    values: tuple[Any, ...]
    account: str
    effort: Effort | None = None
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Asking:
    """The statements of one probe.

    vector: None where meaning is not asked for. worded: whether words are.
    """

    tables: Tables
    scope: Scope
    where: Filter
    vector: Numbers | None
    worded: bool

    def scan(self, records: int, passages: int) -> Statement:
        """Count what matches, up to so many records and one more, and read it unless that are too many passages.

        One row for each passage, or a single one: how many records and passages match; id, parent, name, level; place,
        ordinal, stream, cosine of the passage.
        """
        here = self._allowed()
        facts, values = self._facts("read")
        sql = f"""
            WITH few AS MATERIALIZED (
                SELECT id, parent, name, level, passages, vectors FROM {self.tables.entries}
                WHERE {here.sql} LIMIT %s
            ), size AS MATERIALIZED (
                SELECT count(*) AS records, coalesce(sum(passages), 0)::bigint AS passages FROM few
            ), read AS MATERIALIZED (
                SELECT * FROM few WHERE (SELECT size.passages FROM size) <= %s
            )
            SELECT size.records, size.passages, found.* FROM size LEFT JOIN ({facts}) AS found ON TRUE
        """
        return self._statement(sql, *here.values, records + 1, passages, *values)

    def facts(self, ids: Sequence[int]) -> Statement:
        """Read some records; one row for each passage, as `scan` has them, without the counts."""
        here = within(self.scope)
        facts, values = self._facts(self.tables.entries)
        sql = f"{facts} WHERE few.id = ANY(%s::bigint[]) AND {here.sql}"
        return self._statement(sql, *values, longs(ids), *here.values)

    def nearest(self, wanted: int) -> Statement:
        """Return id and distance of those that hold the nearest vectors of all that match, and all that tie at the cut."""
        here, t = self._allowed(), self.tables
        sql = f"""
            SELECT id, v.vector <#> %s::vector AS distance
            FROM {t.entries} CROSS JOIN LATERAL unnest(vectors) AS mine
            JOIN {t.vectors} AS v ON v.number = mine
            WHERE {here.sql}
            ORDER BY distance FETCH FIRST %s ROWS WITH TIES
        """
        return self._statement(sql, self.vector, *here.values, wanted)

    def neighbours(self, wanted: int, effort: Effort) -> Statement:
        """Return id and distance of the records that hold the nearest vectors by the graph, all that tie at the cut."""
        here, t = self._allowed(known=True), self.tables
        sql = f"""
            SELECT id, v.vector <#> %s::vector FROM {t.vectors} AS v
            JOIN {t.holders} AS h ON h.number = v.number JOIN {t.entries} ON id = h.record
            WHERE {here.sql}
            ORDER BY {t.drawn("v.vector")} <#> {t.drawn("%s::vector")} FETCH FIRST %s ROWS WITH TIES
        """
        values = (self.vector, *here.values, self.vector, wanted)
        return self._statement(sql, *values, effort=effort)

    def holders(self, sets: Sequence[Sequence[int]], most: int, *, everywhere: bool) -> Statement:
        """Return id and stream of passages that have all keys of one of some sets.

        everywhere: all that the scope's identity may see is asked for, so that the keys say all.
        """
        single = [keys[0] for keys in sets if len(keys) == 1]
        several = [longs(keys) for keys in sets if len(keys) > 1]
        ways = ["keys && %s::bigint[]"] * bool(single) + ["keys @> %s::bigint[]"] * len(several)
        values: list[object] = [*([longs(single)] if single else []), *several]
        held = f"""
            SELECT record, stream FROM {self.tables.passages}
            WHERE {" OR ".join(ways)} LIMIT %s
        """
        if everywhere:
            return self._statement(held, *values, most)
        here = self._allowed(known=True)
        # No join: where a range of addresses is thought to hold one entry, each of its thousands would read all of these.
        sql = f"""
            WITH held AS MATERIALIZED ({held})
            SELECT record, stream FROM held
            WHERE (SELECT TRUE FROM {self.tables.entries} WHERE id = record AND {here.sql})
        """
        return self._statement(sql, *values, most, *here.values)

    def earliest(self, ids: Sequence[int], wanted: int) -> Statement:
        """Return the ids of those records that stand first in the tree."""
        here = self._allowed(known=True)
        sql = (
            f"SELECT id FROM {self.tables.entries} WHERE id = ANY(%s::bigint[]) AND {here.sql}"
            f" ORDER BY {_TREE_ORDER} LIMIT %s"
        )
        return self._statement(sql, longs(ids), *here.values, wanted)

    def _allowed(self, *, known: bool = False) -> Condition:
        """Return the condition of scope and filter; known: of entries that are found by their ids."""
        tags = None if known else self.tables.tags
        return conjunction([within(self.scope), compiled(self.where, self.scope.account, tags)])

    def _facts(self, entries: str) -> tuple[str, tuple[object, ...]]:
        stream = "p.stream" if self.worded else "NULL::bytea"
        cosine, joined = "NULL::float8", ""
        values: tuple[object, ...] = ()
        if self.vector is not None:
            cosine, values = "-(v.vector <#> %s::vector)", (self.vector,)
            joined = f"LEFT JOIN {self.tables.vectors} AS v ON v.number = few.vectors[p.place + 1]"
        sql = (
            "SELECT few.id, few.parent, few.name, few.level, p.place, p.ordinal,"
            f" {stream}, {cosine} FROM {entries} AS few"
            f" JOIN {self.tables.passages} AS p ON p.record = few.id {joined}"
        )
        return sql, values

    def _statement(self, sql: str, *values: object, effort: Effort | None = None) -> Statement:
        whole = isinstance(self.where, Everything) and self.scope.targets == (ROOT,)
        kept = whole or narrow(self.where)
        return Statement(sql, values, self.scope.account, effort, kept)


def narrow(where: Filter) -> bool:
    """Return whether a filter names what it wants: directories, or records."""
    parts = where.parts if isinstance(where, And) else (where,)
    return any(
        isinstance(part, Numbered) or (isinstance(part, OneOf) and part.field in ("parent", "name"))
        for part in parts
    )


def census(tables: Tables, scope: Scope, keys: Sequence[int]) -> Statement:
    """Return what there is and what somebody sees of it.

    Records, passages, vectors of everybody, whether there is a graph; passages and words in sight; keys, their counts.
    """
    t = tables
    mine = "WHERE account = %s AND owner IN ('', %s)"
    sql = f"""
        SELECT records, state.passages, vectors, drawn, size.passages, size.length, held.keys, held.counts FROM {t.state} AS state, (
            SELECT coalesce(sum(passages), 0)::bigint AS passages, coalesce(sum(length), 0)::bigint AS length
            FROM {t.sizes} {mine}
        ) AS size, (
            SELECT coalesce(array_agg(key), '{{}}') AS keys, coalesce(array_agg(passages), '{{}}') AS counts
            FROM {t.counts} WHERE key = ANY(%s::bigint[])
        ) AS held
    """
    return Statement(sql, (scope.account, scope.user, longs(keys)), scope.account)
