"""Probes to hits, all against one state of the database."""

# ruff: noqa: S608 - names of our own tables; every value is bound

from collections import Counter
from collections.abc import Sequence

import numpy as np
from psycopg import AsyncConnection

from contextfind.adapters.postgres.index_rules import IndexRules
from contextfind.adapters.postgres.index_schema import Tables
from contextfind.adapters.postgres.index_scoring import Census, Weights
from contextfind.adapters.postgres.index_search import Rows, Search, Sight, side_by_side
from contextfind.adapters.postgres.index_statements import Asking, Statement
from contextfind.adapters.postgres.index_words import number_of, shelves
from contextfind.domain.scope import Scope
from contextfind.ports.index import Hits, Probe

Key = tuple[str, str, tuple[str, ...]]
_NAMED = "SELECT set_config('contextfind.account', %s, true)"
# What is looked up are some hundred rows by their keys. The planner knows too little of that: it would read a whole
# table, or compile the statement first, either of which takes longer than all the rest.
_SETTINGS = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",
    "enable_incremental_sort": "off",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "hnsw.iterative_scan": "strict_order",
}


class Answering:
    """Answers in the transaction that is open; what a question needs to know beforehand is read once.

    plans: how often each way was taken.
    """

    def __init__(self, connection: AsyncConnection, tables: Tables, rules: IndexRules) -> None:
        self._connection = connection
        self._tables = tables
        self._rules = rules
        self._account: str | None = None
        self._known: dict[Key, tuple[Sight, Weights | None]] = {}
        self.plans: Counter[str] = Counter()

    async def begin(self) -> None:
        """Have the database answer as it does best for what is asked here."""
        settings = {**_SETTINGS, "hnsw.ef_search": str(self._rules.breadth)}
        calls = ", ".join(["set_config(%s, %s, true)"] * len(settings))
        values = [text for pair in settings.items() for text in pair]
        await self._connection.execute(f"SELECT {calls}".encode(), values)

    async def answer(self, probes: Sequence[Probe]) -> list[Hits]:
        """Return the hits of each probe."""
        return await self._lead(await self._searches(probes))

    async def explain(self, probes: Sequence[Probe]) -> list[str]:
        """Return of each probe how it is answered."""
        searches = await self._searches(probes)
        await self._lead(searches)
        return ["; ".join(search.ways) for search in searches]

    async def _lead(self, searches: Sequence[Search]) -> list[Hits]:
        steps = side_by_side([search.steps() for search in searches])
        try:
            statements = next(steps)
            while True:
                statements = steps.send(await self._run(statements))
        except StopIteration as end:
            for search in searches:
                self.plans.update(search.plans)
            hits: list[Hits] = end.value
            return hits

    async def _searches(self, probes: Sequence[Probe]) -> list[Search]:
        found = []
        for probe in probes:
            sight, weights = await self._sight(probe.scope, probe.terms)
            asking = Asking(
                self._tables, probe.scope, probe.where, probe.vector, weights is not None
            )
            found.append(Search(asking, probe, weights, sight, self._rules))
        return found

    async def _sight(self, scope: Scope, terms: tuple[str, ...]) -> tuple[Sight, Weights | None]:
        key = (scope.account, scope.user, terms)
        if key not in self._known:
            self._known[key] = await self._looked(scope, terms)
        return self._known[key]

    async def _looked(self, scope: Scope, terms: tuple[str, ...]) -> tuple[Sight, Weights | None]:
        """Count what the scope's identity may see and which passages of it hold the terms."""
        t, account = self._tables, scope.account
        mine = shelves(scope)
        distinct = sorted(set(terms))
        numbers = np.array([number_of(term) for term in distinct], "<u8")
        keys = [shelf.keys(numbers).tolist() for shelf in mine]
        [[state], [size], counts] = await self._run(
            [
                Statement(f"SELECT vectors, drawn FROM {t.state}", (), account),
                Statement(
                    "SELECT coalesce(sum(passages), 0)::bigint, coalesce(sum(length), 0)::bigint"
                    f" FROM {t.sizes} WHERE account = %s AND owner IN ('', %s)",
                    (account, scope.user),
                    account,
                ),
                Statement(
                    f"SELECT key, passages FROM {t.counts} WHERE key = ANY(%s::bigint[])",
                    ([key for some in keys for key in some],),
                    account,
                ),
            ]
        )
        passages, length = size
        sight = Sight(mine, passages, *state)
        if not distinct:
            return sight, None
        held: dict[int, int] = dict(counts)
        holders = {
            term: sum(held.get(some[at], 0) for some in keys) for at, term in enumerate(distinct)
        }
        return sight, Weights.of(terms, Census(passages, length, holders))

    async def _run(self, statements: Sequence[Statement]) -> list[Rows]:
        """Return the rows of each statement, all in one round trip."""
        async with self._connection.pipeline():
            cursors = []
            for statement in statements:
                if statement.account != self._account:
                    await self._connection.execute(_NAMED, (statement.account,))
                    self._account = statement.account
                cursor = self._connection.cursor(binary=True)
                cursors.append(await cursor.execute(statement.sql.encode(), statement.values))
            return [await cursor.fetchall() for cursor in cursors]
