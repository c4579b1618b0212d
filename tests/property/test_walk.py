"""With no reason to stop early the walk finds what exhaustive search finds."""

import random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from contextfind.adapters.memory.index import MemoryIndex
from contextfind.domain.filters import Everything, Filter, Tagged, matches
from contextfind.domain.records import Level, Record, shown_address
from contextfind.domain.scope import Scope
from contextfind.domain.scoring import Calibration, ScoreRules
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports import Change, Hit, Probe
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.judging import Judge
from contextfind.retrieval.walk import Ask, HierarchicalRetriever, Walk
from tests.builders import make_change, make_record, unit
from tests.fakes import SimpleTokenizer
from tests.strategies import TAGS, WORDS, filters

ENDLESS = WalkRules(
    candidates=1_000,
    global_search_topk=1_000,
    children=1_000,
    max_convergence_rounds=10_000,
    max_rounds=10_000,
)
CALIBRATION = Calibration(floor=0.0, span=1.0)
SCORES = ScoreRules()
TERMS = ("rollback", "cache")
QUERY = unit(3)


def grow(seed: int, size: int) -> list[Change]:
    """Return the log of a whole tree: every directory has its L0 and L1, every record a vector."""
    rng = random.Random(seed)  # noqa: S311 - data for a test
    folders = ["viking://resources", "viking://user/ann", "viking://user/ben"]
    log: list[Change] = []

    def put(account: str, uri: str, level: Level) -> None:
        tags = tuple(tag for tag in TAGS if rng.random() < 0.3)
        record = make_record(len(log) + 1, uri, level, account=account, tags=tags)
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 5)))
        log.append(make_change(len(log) + 1, record, [text], [rng.randrange(12)]))

    for number in range(size):
        account = rng.choice(["acme", "acme", "bolt"])
        parent = rng.choice(folders)
        if rng.random() < 0.35:
            uri = f"{parent}/d{number}"
            for name in ("acme", "bolt"):
                put(name, uri, Level.ABSTRACT)
                put(name, uri, Level.OVERVIEW)
            folders.append(uri)
        else:
            put(account, f"{parent}/f{number}.md", Level.DETAIL)
    return log


async def walk(log: list[Change], scope: Scope, where: Filter, rules: WalkRules) -> Walk:
    index = MemoryIndex(SimpleTokenizer())
    await index.follow(log)
    retriever = HierarchicalRetriever(index, CALIBRATION, SCORES, rules)
    return await retriever.retrieve(Ask(scope, where, 10, QUERY, TERMS))


async def own_scores(log: list[Change], scope: Scope) -> tuple[dict[Record, float], float]:
    """Score every record in scope by itself, by one exhaustive probe; and return their alpha."""
    index = MemoryIndex(SimpleTokenizer())
    await index.follow(log)
    hits = (await index.search([Probe(scope, Everything(), 10_000, QUERY, TERMS)]))[0]
    judge = Judge(CALIBRATION, SCORES, hits.known)
    by_id: dict[int, Hit] = {hit.id: hit for hit in hits}
    records = [change.record for change in log if change.record is not None]
    own = {record: judge.own(by_id[record.id]) for record in records if record.id in by_id}
    return own, judge.alpha


def finals(own: dict[Record, float], alpha: float, where: Filter) -> dict[int, float]:
    """Return the formula of domain.scoring over everything, written down plainly."""
    evidence: dict[Uri, float] = {}
    for record, score in own.items():
        if record.level is Level.DETAIL and matches(where, record):
            above, fading = record.parent, score
            while above is not None:
                evidence[above] = max(evidence.get(above, 0.0), fading)
                above, fading = above.parent, 0.8 * fading
    result: dict[int, float] = {}
    for record, score in own.items():
        if not matches(where, record):
            continue
        if record.level is Level.DETAIL:
            result[record.id] = alpha * score + (1 - alpha) * evidence[record.parent or ROOT]
        elif record.uri in evidence:
            result[record.id] = evidence[record.uri] * (0.8 + 0.2 * score)
        else:
            result[record.id] = 0.8 * score
    return result


SCOPES = st.sampled_from(
    [
        Scope("acme", "ann", (ROOT,)),
        Scope("bolt", "ben", (ROOT,)),
        Scope("acme", "ann", (Uri("viking://resources"),)),
    ]
)


@settings(max_examples=150, deadline=None)
@example(seed=181552, size=6, where=Tagged("kind=note"), scope=Scope("acme", "ann", (ROOT,)))
@given(seed=st.integers(0, 2**32), size=st.integers(0, 40), where=filters, scope=SCOPES)
async def test_walk_equals_exhaustive_search_over_what_the_caller_may_see(
    seed: int, size: int, where: Filter, scope: Scope
) -> None:
    log = grow(seed, size)
    found = await walk(log, scope, where, ENDLESS)
    expected = finals(*await own_scores(log, scope), where)
    assert {scored.hit.id for scored in found.ranked()} == set(expected)
    for scored in found.ranked():
        assert abs(scored.score - min(expected[scored.hit.id], 1.0)) < 1e-4
    hits = [(scored.score, scored.hit) for scored in found.ranked()]
    order = [(-score, shown_address(hit.uri, hit.level)) for score, hit in hits]
    assert order == sorted(order)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), where=filters)
async def test_the_ordinary_walk_never_ranks_below_what_flat_search_found(
    seed: int, where: Filter
) -> None:
    log, scope = grow(seed, 40), Scope("acme", "ann", (ROOT,))
    found = await walk(log, scope, where, WalkRules())
    flat = finals(*await own_scores(log, scope), where)
    assert [scored.hit.id for scored in found.ranked(1)] == sorted(
        flat, key=lambda i: (-round(min(flat[i], 1.0), 4), found_uri(log, i))
    )[:1]


def found_uri(log: list[Change], record_id: int) -> str:
    record = next(c.record for c in log if c.id == record_id)
    assert record is not None
    return shown_address(record.uri, record.level)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), where=filters)
async def test_nothing_of_another_account_or_user_is_ever_found(seed: int, where: Filter) -> None:
    log = grow(seed, 40)
    found = await walk(log, Scope("bolt", "ben", (ROOT,)), where, ENDLESS)
    records = {change.id: change.record for change in log}
    for scored in found.ranked():
        record = records[scored.hit.id]
        assert record is not None
        assert record.account == "bolt"
        assert record.owner in ("", "ben")
