"""Probes to hits, all against one state of the database."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from contextfind.adapters.postgres.index_rules import IndexRules
from contextfind.adapters.postgres.index_schema import Tables
from contextfind.adapters.postgres.index_scoring import Census, Weights
from contextfind.adapters.postgres.index_search import Search, Sight, side_by_side
from contextfind.adapters.postgres.index_snapshot import Snapshot
from contextfind.adapters.postgres.index_statements import Asking, Rows, Statement, census
from contextfind.adapters.postgres.index_values import Numbers
from contextfind.adapters.postgres.index_words import number_of, shelves
from contextfind.domain.scope import Scope
from contextfind.ports.index import Hits, Probe

Key = tuple[str, str, tuple[str, ...]]


class Answering:
    """Answers in the transaction that is open; what a question needs to know beforehand is read once.

    plans: how often each way was taken.
    """

    def __init__(self, snapshot: Snapshot, tables: Tables, rules: IndexRules) -> None:
        self._snapshot = snapshot
        self._tables = tables
        self._rules = rules
        self._known: dict[Key, tuple[Sight, Weights | None]] = {}
        self.plans: Counter[str] = Counter()

    def answer(self, probes: Sequence[Probe]) -> list[Hits]:
        """Return the hits of each probe."""
        return self._lead(self._searches(probes))

    def explain(self, probes: Sequence[Probe]) -> list[str]:
        """Return of each probe how it is answered."""
        searches = self._searches(probes)
        self._lead(searches)
        return ["; ".join(search.ways) for search in searches]

    def _lead(self, searches: Sequence[Search]) -> list[Hits]:
        steps = side_by_side([search.steps() for search in searches])
        try:
            statements = next(steps)
            while True:
                statements = steps.send(self._run(statements))
        except StopIteration as end:
            for search in searches:
                self.plans.update(search.plans)
            hits: list[Hits] = end.value
            return hits

    def _searches(self, probes: Sequence[Probe]) -> list[Search]:
        found = []
        for probe in probes:
            sight, weights = self._sight(probe.scope, probe.terms)
            vector = None if probe.vector is None else Numbers.of(probe.vector)
            asking = Asking(self._tables, probe.scope, probe.where, vector, weights is not None)
            found.append(Search(asking, probe, weights, sight, self._rules))
        return found

    def _sight(self, scope: Scope, terms: tuple[str, ...]) -> tuple[Sight, Weights | None]:
        key = (scope.account, scope.user, terms)
        if key not in self._known:
            self._known[key] = self._looked(scope, terms)
        return self._known[key]

    def _looked(self, scope: Scope, terms: tuple[str, ...]) -> tuple[Sight, Weights | None]:
        """Count what the scope's identity may see and which passages of it hold the terms."""
        mine = shelves(scope)
        distinct = sorted(set(terms))
        numbers = np.array([number_of(term) for term in distinct], "<u8")
        keys = np.array([shelf.keys(numbers) for shelf in mine], np.int64)
        asked = census(self._tables, scope, keys.ravel().tolist())
        [[[records, rows, vectors, drawn, passages, length, *counts]]] = self._run([asked])
        sight = Sight(mine, keys, passages, rows / max(records, 1), vectors, drawn)
        if not distinct:
            return sight, None
        held: dict[int, int] = dict(zip(*counts, strict=True))
        holders = {
            term: sum(held.get(key, 0) for key in some)
            for term, some in zip(distinct, keys.T.tolist(), strict=True)
        }
        return sight, Weights.of(terms, Census(passages, length, holders))

    def _run(self, statements: Sequence[Statement]) -> list[Rows]:
        """Return the rows of each statement, all in one round trip."""
        cursors = []
        for statement in statements:
            self._snapshot.see(statement.account)
            self._snapshot.look(statement.effort)
            cursor = self._snapshot.connection.cursor(binary=True)
            sql, kept = statement.sql.encode(), None if statement.kept else False
            cursors.append(cursor.execute(sql, statement.values, prepare=kept))
        return [cursor.fetchall() for cursor in cursors]
