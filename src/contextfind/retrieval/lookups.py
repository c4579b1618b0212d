"""Conditions that only the store can answer, answered before an index is asked."""

from collections.abc import Mapping

from contextfind.domain.filters import (
    And,
    Contains,
    Filter,
    Not,
    Nothing,
    Numbered,
    Or,
    Used,
    store_conditions,
)
from contextfind.domain.scope import Scope
from contextfind.ports import RecordStore


async def indexable(store: RecordStore, scope: Scope, where: Filter) -> Filter:
    """Return a filter that keeps the same records within `scope` and that an index can answer.

    `active_count` and texts in abstracts become sets of ids; one read for all of them.

    Raises:
        UnavailableError: the store does not answer.

    """
    asked = sorted(store_conditions(where), key=repr)
    if not asked:
        return where
    rarer = [_rarer(condition) for condition in asked]
    found = await store.matching(scope, [condition for condition, _ in rarer])
    known: dict[Filter, Filter] = {}
    for condition, (_, is_opposite), ids in zip(asked, rarer, found, strict=True):
        known[condition] = Not(Numbered.of(ids)) if is_opposite else Numbered.of(ids)
    return _replaced(where, known)


def _rarer(condition: Contains | Used) -> tuple[Filter, bool]:
    """Return the condition, or its opposite (and True) where all unused records satisfy it.

    Most records were never used, so this is the smaller set.
    """
    if isinstance(condition, Contains):
        return condition, False
    least, most = condition.least, condition.most
    if least is not None and least > 0:
        return condition, False
    if most is None:
        return Nothing(), True
    return (Nothing(), False) if most < 0 else (Used(most + 1, None), True)


def _replaced(where: Filter, known: Mapping[Filter, Filter]) -> Filter:
    match where:
        case And(parts):
            return And(tuple(_replaced(part, known) for part in parts))
        case Or(parts):
            return Or(tuple(_replaced(part, known) for part in parts))
        case Not(part):
            return Not(_replaced(part, known))
        case _:
            return known.get(where, where)
