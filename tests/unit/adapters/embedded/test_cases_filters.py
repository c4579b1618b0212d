"""How much an index looks at when a filter keeps few of many, or nearly all: counted, not timed.

The number in a name is that of the case in docs/compatibility.md; tests/benchmark/kinds.py has the clock.
"""
# ruff: noqa: N802 - the numbers are written as there

from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.planner import Neighbours, Plan, Scan, Task, plan
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.domain.filters import Everything, Filter, Tagged
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Probe
from tests.builders import DIMENSION, make_change, make_record, unit, units
from tests.fakes import SimpleTokenizer

RECORDS = 2_000
STRIDES = {"thousandth": 1_000, "hundredth": 100, "tenth": 10}
# A neighbour costs a tenth of what it does in truth: else no graph would be asked among so few.
LOW = IndexRules(
    exact_below=100, graph_from=1_000, graph_floor=32, neighbour_cost=0.3, quiet_seconds=0.0
)


def cost(task: Task, step: Plan, rules: IndexRules) -> float:
    """Return the microseconds that the rules reckon with, a row picked out at its dearest."""
    if isinstance(step, Neighbours):
        return step.count * rules.neighbour_cost
    assert isinstance(step, Scan)
    return min(task.candidates * rules.gather_cost, task.span * rules.read_cost)


@pytest.mark.parametrize(
    ("nodes", "share", "most"),
    [
        pytest.param(100_000, 0.001, 3, id="R047"),
        pytest.param(50_000, 0.001, 5, id="R099 0.1 %"),
        pytest.param(50_000, 0.1, 5, id="R099 10 %"),
        pytest.param(50_000, 0.9, 5, id="R099 90 %"),
    ],
)
@pytest.mark.parametrize("wanted", [10, 100, 500])
def test_R047_R099_no_filter_is_planned_to_cost_many_times_what_none_does(
    nodes: int, share: float, most: int, wanted: int
) -> None:
    rules = IndexRules()
    whole = Task(nodes, nodes, wanted, nodes)
    task = Task(int(nodes * share), nodes, wanted, nodes)
    step = plan(task, rules)
    assert cost(task, step, rules) <= most * cost(whole, plan(whole, rules), rules)
    assert share > 0.001 or step == Scan()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def index() -> AsyncIterator[EmbeddedIndex]:
    """An index with one graph; a tag for each share of its records, evenly strewn."""
    changes = []
    for n in range(RECORDS):
        tags = tuple(f"{tag}=yes" for tag, step in STRIDES.items() if n % step == 0)
        tags += ("most=yes",) if n % 10 else ()
        record = make_record(n, f"viking://resources/d{n % 20}/f{n}.md", tags=tags)
        changes.append(make_change(n + 1, record, ["text"], [n]))
    index = await EmbeddedIndex.open(None, DIMENSION, "tests", SimpleTokenizer(), LOW)
    await index.follow(changes)
    await index.rest()
    assert index.stats()["graph_rows"] == RECORDS
    yield index
    await index.aclose()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("where", "told"),
    [
        pytest.param(Tagged("thousandth=yes"), "exact scan of 2 vectors", id="0.1 %"),
        pytest.param(Tagged("hundredth=yes"), "exact scan of 20 vectors", id="1 %"),
        pytest.param(Tagged("tenth=yes"), "exact scan of 200 vectors", id="10 %"),
        pytest.param(Tagged("most=yes"), "graph search among 1,800 vectors", id="90 %"),
        pytest.param(Everything(), "graph search among 2,000 vectors", id="no filter"),
    ],
)
async def test_R047_R099_what_a_filter_drops_is_not_looked_at_and_narrow_ones_are_exact(
    index: EmbeddedIndex, where: Filter, told: str
) -> None:
    probe = Probe(Scope("acme", "ann", (ROOT,)), where, 10, unit(9_999), ())
    (explained,) = await index.explain([probe])
    assert explained.startswith(told)
    (hits,) = await index.search([probe])
    kept = [n for n in range(RECORDS) if is_kept(where, n)]
    cosines = units(kept) @ unit(9_999)
    best = {kept[at] for at in np.argsort(-cosines, kind="stable")[:10].tolist()}
    found = {int(hit.id) for hit in hits}
    assert len(found) == len(best)
    assert found <= set(kept)
    assert found == best or told.startswith("graph")


def is_kept(where: Filter, number: int) -> bool:
    match where:
        case Tagged("most=yes"):
            return number % 10 != 0
        case Tagged(tag):
            return number % STRIDES[tag.removesuffix("=yes")] == 0
        case _:
            return True
