from datetime import timedelta

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.records import ContextType, Level, RecordId
from contextfind.domain.scoring import Calibration, HotnessRules, ScoreRules
from contextfind.domain.uri import Uri
from contextfind.ports import Commit, Hit, RecordDraft
from contextfind.retrieval.frontier import Frontier, Scored, WalkRules
from contextfind.retrieval.hotness import Stove
from contextfind.retrieval.judging import Judge
from tests.builders import NOON, make_passages

OPS = Uri("viking://resources/ops")
A, B, C = (OPS.child(name) for name in ("a.md", "b.md", "c.md"))


async def stored(*days: int) -> MemoryRecordStore:
    """Return a store with a, b, c, written so many days before noon."""
    store = MemoryRecordStore()
    for uri, age in zip((A, B, C), days, strict=True):
        draft = RecordDraft(
            uri, Level.DETAIL, ContextType.RESOURCE, uri.name, make_passages(uri.name)
        )
        await store.commit(Commit("acme", NOON - timedelta(days=age), put=[draft]))
    return store


def pool(*cosines: float, ids: tuple[int, ...] = (1, 2, 3)) -> list[Scored]:
    rules = ScoreRules(score_propagation_alpha=1.0, meaning_weight=1.0)
    frontier = Frontier(Judge(Calibration(0.0, 1.0), rules, known=1.0), WalkRules(), 10)
    for number, uri, cosine in zip(ids, (A, B, C), cosines, strict=True):
        frontier.see([Hit(RecordId(number), uri, Level.DETAIL, 0, cosine, 0.0)], keep=True)
    return list(frontier.ranked())


def stove(store: MemoryRecordStore, alpha: float) -> Stove:
    return Stove(store, lambda: NOON, HotnessRules(alpha))


async def test_a_used_record_passes_a_slightly_better_one_also_from_below_the_cut() -> None:
    store = await stored(0, 0, 0)
    await store.touch([RecordId(3)] * 9)
    warmed = await stove(store, 0.2).warm(pool(0.5, 0.49, 0.48), 4)
    assert [scored.hit.uri.name for scored in warmed] == ["c.md", "a.md", "b.md"]
    assert [scored.score for scored in warmed] == [0.5658, 0.5, 0.492]
    assert [scored.semantic for scored in warmed] == [0.48, 0.5, 0.49]
    assert [round(scored.hotness or 0.0, 4) for scored in warmed] == [0.9091, 0.5, 0.5]


async def test_with_the_whole_share_only_use_and_age_decide() -> None:
    store = await stored(14, 7, 0)
    warmed = await stove(store, 1.0).warm(pool(1.0, 0.5, 0.1), 4)
    assert [(s.hit.uri.name, s.score) for s in warmed] == [
        ("c.md", 0.5),
        ("b.md", 0.25),
        ("a.md", 0.125),
    ]


async def test_ties_go_by_address() -> None:
    store = await stored(0, 0, 0)
    warmed = await stove(store, 1.0).warm(pool(0.1, 0.5, 0.9), 4)
    assert [scored.hit.uri for scored in warmed] == [A, B, C]


async def test_what_was_deleted_a_moment_ago_is_cold() -> None:
    store = await stored(0, 0, 0)
    warmed = await stove(store, 0.5).warm(pool(0.7, 0.8, 0.6, ids=(9, 2, 3)), 4)
    assert [(s.hit.id, s.score) for s in warmed] == [(2, 0.65), (3, 0.55), (9, 0.35)]
