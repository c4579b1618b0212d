"""How a walk went, told step by step: built afterwards, and only when somebody asks."""

from collections.abc import Iterator

from contextfind.domain.queries import FindQuestion
from contextfind.domain.records import shown_address
from contextfind.domain.results import Step, Trace
from contextfind.retrieval.duplicates import Page
from contextfind.retrieval.frontier import Scored
from contextfind.retrieval.judging import Judge
from contextfind.retrieval.walk import Walk

_CUT_SHOWN = 10  # runners-up that are named; further ones explain nothing


def trace_of(walk: Walk, page: Page, question: FindQuestion) -> Trace:
    """Return the directories in the order they were opened, the hits, the runners-up and the end."""
    kept = [one.scored for one in page.chosen]
    return Trace(
        steps=[
            *_opened(walk),
            *(_kept(scored, walk.judge) for scored in kept),
            *_cut(walk, page, question),
            Step("end", walk.frontier.ending),
        ],
        rounds=walk.frontier.rounds,
        candidates=len(walk.ranked()),
    )


def _opened(walk: Walk) -> Iterator[Step]:
    for opened in walk.frontier.opened:
        reason = f"round {opened.round}: {opened.reason}"
        yield Step("open", reason, opened.uri, None, opened.score)


def _kept(scored: Scored, judge: Judge) -> Step:
    return Step("keep", _channels(scored, judge), scored.hit.uri, scored.hit.level, scored.score)


def _cut(walk: Walk, page: Page, question: FindQuestion) -> Iterator[Step]:
    """Yield the best that were not kept, each with the rule that cut it."""
    answered = {one.scored.hit.id for one in page.chosen}
    leaders = {twin.hit.id: one.scored.hit for one in page.chosen for twin in one.twins}
    others = [s for s in walk.ranked() if s.hit.id not in answered]
    floor = question.score_threshold
    for scored in others[:_CUT_SHOWN]:
        leader = leaders.get(scored.hit.id)
        if floor is not None and scored.score < floor:
            rule = f"below score_threshold {floor:g}"
        elif scored.hit.id in page.gone:
            rule = "deleted a moment ago"
        elif leader is not None:
            rule = f"the same text as {shown_address(leader.uri, leader.level)}"
        else:
            rule = f"beyond limit {question.limit}"
        reason = f"{rule}; {_channels(scored, walk.judge)}"
        yield Step("cut", reason, scored.hit.uri, scored.hit.level, scored.score)


def _channels(scored: Scored, judge: Judge) -> str:
    meaning = judge.meaning(scored.hit)
    told = "no vector" if meaning is None else f"meaning {meaning:.2f}"
    words = f"words {scored.hit.words:.2f}" if judge.words_known else "no word of it is known"
    parent = " and its directory" if scored.score != scored.own else ""
    return f"own {scored.own:.2f} ({told}, {words}){parent}"
