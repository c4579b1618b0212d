"""What is asked of the database to answer a probe.

Whatever a statement reads, it reads the entries too, and only of those that the scope allows: they are behind row-level
security, so a statement that forgot the scope would find nothing. The words of a whole account are the exception:
keys are made of whose they are, and what is found by them is read by `facts` before it is told.
"""

# ruff: noqa: S608 - names of our own tables; every value is bound

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from contextfind.adapters.postgres.conditions import (
    Condition,
    compiled,
    conjunction,
    parts_of,
    tagged,
    tags_of,
    within,
)
from contextfind.adapters.postgres.index_rules import Effort
from contextfind.adapters.postgres.index_schema import Tables
from contextfind.adapters.postgres.index_values import Numbers, longs
from contextfind.domain.filters import Everything, Filter, Numbered, OneOf
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, SCHEME

Rows = list[tuple[Any, ...]]
Sql = tuple[str, tuple[object, ...]]  # and the values of its placeholders
# Statements to be run together, sent back as the rows of each.
Steps = Generator[list["Statement"], list[Rows], Any]

_FOLDER = f"(CASE WHEN parent IN ('', '{SCHEME}') THEN parent ELSE parent || '/' END) COLLATE \"C\""
_NO_FACTS = "NULL, NULL, NULL, NULL, NULL, NULL"
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
class Most:
    """How many records are counted, at most: as a rule, and where more than that have the tags that are asked for."""

    records: int
    tagged: int


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

    def scan(self, most: Most, passages: int, wanted: int) -> Statement:
        """Count what matches, and one more than the most; read it, or sort it where that are too many passages.

        One row for each passage, or a single one: how many records and passages match, whether that are all; id, parent,
        name, level; place, ordinal, stream, cosine of the passage. Of what is sorted, id and distance as `nearest`
        tells them.
        """
        few, counted = self._few(most)
        facts, measured = self._facts()
        others = ""
        sorted_by: tuple[object, ...] = ()
        if self.vector is not None:
            sized = "(SELECT size.passages > %s AND size.whole FROM size)"
            numbers = f"SELECT unnest(vectors) FROM few WHERE {sized}"
            near, sorted_by = self._sorted((numbers, (passages,)), wanted)
            others = f"UNION ALL SELECT id, {_NO_FACTS}, distance FROM ({near}) AS near"
        sql = f"""
            WITH {few}, size AS MATERIALIZED (
                SELECT count(*) AS records, coalesce(sum(passages), 0)::bigint AS passages,
                    count(*) <= (SELECT records FROM most) AS whole FROM few
            )
            SELECT size.*, found.* FROM size LEFT JOIN (
                {facts} WHERE few.id = ANY(ARRAY(
                    SELECT id FROM few WHERE (SELECT size.passages <= %s FROM size)
                )) {others}
            ) AS found ON TRUE
        """
        return self._statement(sql, *counted, *measured, passages, *sorted_by)

    def facts(self, ids: Sequence[int]) -> Statement:
        """Read some records; one row for each passage, as `scan` has them, without the counts."""
        here = within(self.scope)
        facts, values = self._facts()
        sql = f"{facts} WHERE few.id = ANY(%s::bigint[]) AND {here.sql}"
        return self._statement(sql, *values, longs(ids), *here.values)

    def nearest(self, wanted: int) -> Statement:
        """Return id and distance of those that hold the nearest vectors of all that match, and all that tie at the cut."""
        tags, rest = self._split()
        if tags is not None:
            rest = conjunction([Condition(f"id = ANY(ARRAY({tags.sql}))", tags.values), rest])
        numbers = f"SELECT unnest(vectors) FROM {self.tables.entries} WHERE {rest.sql}"
        sql, values = self._sorted((numbers, rest.values), wanted)
        return self._statement(sql, *values)

    def neighbours(self, wanted: int, effort: Effort) -> Statement:
        """Return id and distance of the records that hold the nearest vectors by the graph, all that tie at the cut."""
        here, t = self._allowed(), self.tables
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
        holding = f"FROM {self.tables.passages} WHERE ({' OR '.join(ways)})"
        if everywhere:
            return self._statement(f"SELECT record, stream {holding} LIMIT %s", *values, most)
        here = self._allowed()
        # Not joined: a plan that expects one entry would read all of the others for it.
        sql = f"""
            WITH held AS MATERIALIZED (SELECT record {holding} LIMIT %s)
            SELECT record, stream {holding} AND record = ANY(ARRAY(
                SELECT id FROM {self.tables.entries} WHERE id = ANY(ARRAY(SELECT record FROM held)) AND {here.sql}
            ))
        """
        return self._statement(sql, *values, most, *values, *here.values)

    def earliest(self, ids: Sequence[int], wanted: int) -> Statement:
        """Return the ids of those records that stand first in the tree."""
        here = self._allowed()
        sql = (
            f"SELECT id FROM {self.tables.entries} WHERE id = ANY(%s::bigint[]) AND {here.sql}"
            f" ORDER BY {_TREE_ORDER} LIMIT %s"
        )
        return self._statement(sql, longs(ids), *here.values, wanted)

    def _allowed(self) -> Condition:
        """Return the condition of scope and filter on a row that is read anyhow."""
        return conjunction([within(self.scope), compiled(self.where, self.scope.account, None)])

    def _split(self) -> tuple[Condition | None, Condition]:
        """Return the query for who has the tags that are asked for, None without any, and the condition of all else."""
        account, parts = self.scope.account, parts_of(self.where)
        lists = [tags for part in parts if (tags := tags_of(part)) is not None]
        if not lists or any(map(_keyed, parts)):
            return None, self._allowed()
        others = [compiled(part, account, None) for part in parts if tags_of(part) is None]
        return tagged(lists, account, self.tables.tags), conjunction([within(self.scope), *others])

    def _few(self, most: Most) -> Sql:
        """Return the table expressions `most`, how many are counted, and `few`: what matches, so many and one more.

        Rows are found all at once and in the order of an index: one by one takes three times as long. So are tags,
        unless more than `most.records` have them: those are looked for in the rows.
        """
        tags, rest = self._split()
        begin = f"SELECT id, passages, vectors FROM {self.tables.entries} WHERE"
        if tags is None:
            sql = f"""
                most AS (SELECT %s::bigint AS records),
                few AS MATERIALIZED ({begin} {rest.sql} LIMIT %s)
            """
            return sql, (most.records, *rest.values, most.records + 1)
        row = self._allowed()
        sql = f"""
            most AS MATERIALIZED (
                SELECT common, CASE WHEN common THEN %s ELSE %s END::bigint AS records
                FROM (SELECT EXISTS ({tags.sql} OFFSET %s) AS common OFFSET 0) AS had
            ), few AS MATERIALIZED (
                {begin} NOT (SELECT common FROM most) AND id = ANY(ARRAY({tags.sql})) AND {rest.sql}
                UNION ALL ({begin} (SELECT common FROM most) AND {row.sql} LIMIT %s)
            )
        """
        counted = (most.tagged, most.records, *tags.values, most.records)
        return sql, (*counted, *tags.values, *rest.values, *row.values, most.tagged + 1)

    def _sorted(self, numbers: Sql, wanted: int) -> Sql:
        """Return what `nearest` asks, among the vectors whose numbers are given."""
        here, t = self._allowed(), self.tables
        sql = f"""
            SELECT id, distance FROM (
                SELECT number, vector <#> %s::vector AS distance FROM {t.vectors}
                WHERE number = ANY(ARRAY({numbers[0]}))
                ORDER BY distance FETCH FIRST %s ROWS WITH TIES
            ) AS first JOIN {t.holders} USING (number) JOIN {t.entries} ON id = record
            WHERE {here.sql}
        """
        return sql, (self.vector, *numbers[1], wanted, *here.values)

    def _facts(self) -> Sql:
        stream = "p.stream" if self.worded else "NULL::bytea"
        cosine, joined = "NULL::float8", ""
        values: tuple[object, ...] = ()
        if self.vector is not None:
            cosine, values = "-(v.vector <#> %s::vector)", (self.vector,)
            joined = f"LEFT JOIN {self.tables.vectors} AS v ON v.number = few.vectors[p.place + 1]"
        sql = (
            "SELECT few.id, few.parent, few.name, few.level, p.place, p.ordinal,"
            f" {stream}, {cosine} FROM {self.tables.entries} AS few"
            f" JOIN {self.tables.passages} AS p ON p.record = few.id {joined}"
        )
        return sql, values

    def _statement(self, sql: str, *values: object, effort: Effort | None = None) -> Statement:
        whole = isinstance(self.where, Everything) and self.scope.targets == (ROOT,)
        kept = whole or narrow(self.where)
        return Statement(sql, values, self.scope.account, effort, kept)


def narrow(where: Filter) -> bool:
    """Return whether a filter names what it wants: directories, or records."""
    return any(
        _keyed(part) or (isinstance(part, OneOf) and part.field == "name")
        for part in parts_of(where)
    )


def _keyed(where: Filter) -> bool:
    """Return whether what a filter names is found by an index."""
    return isinstance(where, Numbered) or (isinstance(where, OneOf) and where.field == "parent")


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
