"""How a walk went, told step by step: built afterwards, and only when somebody asks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from contextfind.domain.queries import FindQuestion
from contextfind.domain.records import Level, RecordId, shown_address
from contextfind.domain.results import ScoreParts, Step, Trace
from contextfind.domain.uri import Uri
from contextfind.retrieval.duplicates import Page
from contextfind.retrieval.frontier import Scored
from contextfind.retrieval.walk import Walk

_CUT_SHOWN = 10  # runners-up that are named; further ones explain nothing
_PASSED_SHOWN = 20  # copies and deleted ones that are named
_ASKED = ("hits", "directories to start from")  # the two global questions of a walk, in order


def trace_of(walk: Walk, page: Page, question: FindQuestion, plans: Sequence[str] = ()) -> Trace:
    """Return the directories in the order they were opened, the hits, the runners-up and the end.

    plans: how the index answered the global questions of the walk, in order.
    """
    ranked = walk.ranked()
    telling = _Telling(walk, ranked)
    return Trace(
        steps=[
            *_opened(walk),
            *(telling.step("", one.scored) for one in page.chosen),
            *(telling.step(rule, scored) for rule, scored in _cut(ranked, page, question)),
            Step("end", walk.frontier.ending),
        ],
        rounds=walk.frontier.rounds,
        candidates=len(ranked),
        plans=[f"{asked}: {plan}" for asked, plan in zip(_ASKED, plans, strict=False)],
        formulas=list(telling.formulas),
    )


def _opened(walk: Walk) -> Iterator[Step]:
    for opened in walk.frontier.opened:
        reason = f"round {opened.round}: {opened.reason}"
        yield Step("open", reason, opened.uri, None, opened.score, opened.round)


def _cut(
    ranked: Sequence[Scored], page: Page, question: FindQuestion
) -> Iterator[tuple[str, Scored]]:
    """Yield the best that were not kept, each with the rule that cut it."""
    kept = {one.scored.hit.id for one in page.chosen}
    passed = _passed_over(page)
    others = [scored for scored in ranked if scored.hit.id not in kept]
    left = {True: _PASSED_SHOWN, False: _CUT_SHOWN}
    floor = question.score_threshold
    for scored in others:
        rule = passed.get(scored.hit.id, "")
        left[bool(rule)] -= 1
        if left[bool(rule)] < 0:
            continue
        if not rule and floor is not None and scored.score < floor:
            rule = f"below score_threshold {floor:g}"
        yield rule or f"beyond limit {question.limit}", scored


def _passed_over(page: Page) -> Mapping[RecordId, str]:
    """Return by which rule hits were passed over that would have stood on the page."""
    rules = dict.fromkeys(page.gone, "deleted a moment ago")
    for one in page.chosen:
        leader = shown_address(one.scored.hit.uri, one.scored.hit.level)
        rules |= {twin.hit.id: f"the same text as {leader}" for twin in one.twins}
        rules |= {hit.hit.id: f"its best file says the same as {leader}" for hit in one.folders}
    return rules


class _Telling:
    """What the scores of one walk were made of, in numbers and in words."""

    def __init__(self, walk: Walk, ranked: Sequence[Scored]) -> None:
        self._judge = walk.judge
        self._reranked = any(scored.reranked is not None for scored in ranked)
        self._warm = any(scored.hotness is not None for scored in ranked)
        self._witnesses = _witnesses(ranked, 1 - walk.judge.rules.directory_own)

    @property
    def formulas(self) -> Iterator[str]:
        """How a score is made of its parts."""
        rules, known = self._judge.rules, self._judge.words_known
        alpha, weight, share = self._judge.alpha, rules.meaning_weight, rules.directory_own
        blend = f"{weight:g} meaning + {_rest(weight)} words"
        if self._judge.blind:
            blend = "square root of words: the meaning of the question is not known"
        yield f"own = {blend if known else 'meaning: no word of the question is known here'}"
        yield f"meaning = how near it is to the question: {_nearness(rules.support_weight)}"
        if known:
            yield f"words = how much of the question one passage holds{_phrases(rules.phrase_weight)}"
        files = (
            "own" if alpha == 1 else f"{alpha:.2g} own + {1 - alpha:.2g} best own of its directory"
        )
        yield f"score of a file = {files}"
        yield f"score of a directory = its best file below, times {_rest(share)} + {share:g} own"
        if self._reranked:
            yield "what the reranker read has the reranker's score instead; the rest ranks below that"
        if self._warm:
            yield "hotness has its share in every score (retrieval.hotness_alpha)"

    def step(self, rule: str, scored: Scored) -> Step:
        """Return the step of a hit that was cut by a rule, or kept: without one."""
        parts, hit = self._parts(scored), scored.hit
        reason = "; ".join(filter(None, (rule, self._told(scored, parts))))
        event: Literal["cut", "keep"] = "cut" if rule else "keep"
        return Step(event, reason, hit.uri, hit.level, scored.score, rule=rule, parts=parts)

    def _parts(self, scored: Scored) -> ScoreParts:
        is_file = scored.hit.level is Level.DETAIL
        alone = scored.reranked is not None or (is_file and self._judge.alpha == 1)
        evidence = None if alone else scored.evidence
        words = self._judge.words(scored.hit)
        return ScoreParts(
            own=scored.own,
            meaning=self._judge.meaning(scored.hit),
            words=None if words is None else min(words, 1.0),
            evidence=evidence,
            witness=None if evidence is None else self._witnesses.get(scored.witness),
            reranked=scored.reranked,
            hotness=scored.hotness,
        )

    def _told(self, scored: Scored, parts: ScoreParts) -> str:
        meaning = "no vector" if parts.meaning is None else f"meaning {parts.meaning:.2f}"
        words = "no word of it is known" if parts.words is None else f"words {parts.words:.2f}"
        told = [f"own {parts.own:.2f} ({meaning}, {words})"]
        if parts.reranked is not None:
            told.insert(0, f"reranker {parts.reranked:.2f}")
        elif self._reranked:
            told.append("not read by the reranker")
        if parts.evidence is not None:
            told.append(_evidence(scored, parts.evidence, parts.witness))
        if parts.hotness is not None:
            told.append(f"hotness {parts.hotness:.2f}")
        return ", ".join(told)


def _evidence(scored: Scored, evidence: float, witness: Uri | None) -> str:
    """Return what the best file of a hit's directory says for it."""
    if witness == scored.hit.uri:
        return "the best of its directory"
    place = "its directory" if scored.hit.level is Level.DETAIL else "files below"
    by = "" if witness is None else f" by {witness.text.removeprefix(f'{scored.witness}/')}"
    return f"{place} {evidence:.2f}{by}"


def _witnesses(ranked: Sequence[Scored], fade: float) -> Mapping[str, Uri]:
    """Return for each directory the file that is its evidence, which fades with every step up."""
    files = [scored for scored in ranked if scored.hit.level is Level.DETAIL]
    best: dict[str, float] = {}
    found: dict[str, Uri] = {}
    for scored in sorted(files, key=lambda scored: (-scored.own, scored.hit.uri)):
        worth, place = scored.own, scored.hit.uri.parent
        while place is not None and best.get(place.text, -1.0) < worth:
            best[place.text], found[place.text] = worth, scored.hit.uri
            worth, place = worth * fade, place.parent
    return found


def _nearness(share: float) -> str:
    """Return which passages of a text say how near it is."""
    best = "its best passage"
    return best if share == 0 else f"{_rest(share)} {best} + {share:g} mean of its best four"


def _phrases(weight: float) -> str:
    """Return what words that are neighbours in the question too add."""
    return "" if weight == 0 else f" + {weight:g} how much of it side by side"


def _rest(share: float) -> str:
    return f"{1 - share:.3g}"
