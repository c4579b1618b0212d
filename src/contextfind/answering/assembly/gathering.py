"""From hits to the entries that shall have a place: each once, best first, by category where that is asked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from contextfind.answering.assembly.categories import (
    OTHER_PEER,
    SKILLS,
    Household,
    origin_of,
    peers_of,
    place_of,
)
from contextfind.answering.assembly.request import ContextQuestion
from contextfind.answering.assembly.tiers import Head
from contextfind.domain.filters import And, Filter, Not, Or, Under, all_of
from contextfind.domain.queries import MAX_LIMIT, FindQuestion, RetrieverMode
from contextfind.domain.records import Level
from contextfind.domain.results import FindResult, MatchedContext
from contextfind.domain.skills import SKILL_FILE
from contextfind.domain.uri import Uri

ALL = "all"
_SPARE = 2  # hits per entry: a directory is found by its abstract and its overview
_DECIMALS = 6  # of a score from which a penalty was taken

Find = Callable[[FindQuestion], Awaitable[FindResult]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that may be shown. directory: it is one, and its texts are summaries."""

    head: Head
    directory: bool


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates, best first, ties by address; how many hits there were, by category.

    deduped: hits without an entry of their own: the same address again, another file of a skill, the directory
    of a better entry, a mere way to other things.
    """

    candidates: Sequence[Candidate]
    searched: Mapping[str, int]
    deduped: int
    found: Sequence[FindResult]


async def gathered(
    asked: ContextQuestion, user: str, peers: Sequence[str], cooling: frozenset[Uri], find: Find
) -> Gathered:
    """Return the entries with a place, at most as many as the quotas, or the limit, add up to.

    Each category is found by itself. It may have as many entries as its quota; places that it cannot fill go
    to the best others.
    """
    shares = _positive(asked.shares)
    most = min(asked.find.limit if shares is None else sum(shares.values()), MAX_LIMIT)
    if most == 0:
        return Gathered((), {}, 0, ())
    limit = min(_SPARE * most + len(cooling), MAX_LIMIT)
    where = all_of(asked.find.where, *_kept_out(asked, user))
    questions = _questions(replace(asked.find, limit=limit, where=where), shares, user, peers)
    found = await asyncio.gather(*(find(question) for question in questions.values()))
    hits = dict(zip(questions, map(_hits, found), strict=True))
    sifted = {name: _entries(some, asked) for name, some in hits.items()}
    deduped = sum(len(hits[name]) - len(sifted[name]) for name in hits)
    warm = {
        name: [one for one in some if one.head.uri not in cooling and not _named(one, asked)]
        for name, some in sifted.items()
    }
    return Gathered(
        _placed(warm, shares, most),
        {name: len(some) for name, some in hits.items()},
        deduped,
        found,
    )


def _named(one: Candidate, asked: ContextQuestion) -> bool:
    """Whether the caller left it out: a skill is found by other files than the one that stands for it."""
    return any(one.head.uri.is_under(uri) for uri in asked.exclude)


def _positive(shares: Mapping[str, int] | None) -> Mapping[str, int] | None:
    return None if shares is None else {name: n for name, n in shares.items() if n > 0}


def _kept_out(asked: ContextQuestion, user: str) -> list[Filter]:
    """Return what the caller does not want to see: named addresses, with all below them; other peers."""
    found: list[Filter] = []
    if asked.exclude:
        found.append(Not(Or(tuple(Under(uri) for uri in asked.exclude))))
    if not asked.all_peers:
        others: Filter = Under(peers_of(user))
        if asked.actor:
            others = And((others, Not(Under(peers_of(user).child(asked.actor)))))
        found.append(Not(others))
    return found


def _questions(
    question: FindQuestion, shares: Mapping[str, int] | None, user: str, peers: Sequence[str]
) -> dict[str, FindQuestion]:
    """Return what is found: everything on one list, or each category by itself, without a reranker."""
    if shares is None:
        return {ALL: replace(question, mode=RetrieverMode.THINKING)}
    household = Household(user, peers)
    return {
        name: replace(question, where=all_of(question.where, household.where(name)))
        for name in shares
    }


def _hits(found: FindResult) -> list[MatchedContext]:
    hits = [*found.memories, *found.resources, *found.skills]
    return sorted(hits, key=lambda hit: (-hit.score, hit.uri, hit.level))


def _entries(hits: Sequence[MatchedContext], asked: ContextQuestion) -> list[Candidate]:
    """Return each entry once, at its best score, best first; no directory behind what lies in it."""
    found: dict[Uri, Candidate] = {}
    for hit in hits:
        place = place_of(hit.uri)
        if place.navigation:
            continue
        skill = _skill(hit) if place.category == SKILLS else None
        uri = hit.uri if skill is None else skill.child(SKILL_FILE)
        origin = origin_of(place, asked.actor)
        score = hit.score
        if origin == OTHER_PEER:
            score = round(max(score - asked.penalties.get(place.category, 0.0), 0.0), _DECIMALS)
        least = asked.find.score_threshold
        if uri not in found and (least is None or score >= least):
            directory = skill is None and hit.level is not Level.DETAIL
            found[uri] = Candidate(Head(uri, place.category, score, origin), directory)
    kept: list[Candidate] = []
    for one in sorted(found.values(), key=_rank):
        if not one.directory or not any(better.head.uri.is_under(one.head.uri) for better in kept):
            kept.append(one)
    return kept


def _skill(hit: MatchedContext) -> Uri | None:
    """Return the directory of the skill that a hit belongs to; a file beside skills belongs to none."""
    for here in (hit.uri, *hit.uri.ancestors()):
        above = here.parent
        if above is not None and above.name == SKILLS and place_of(above).navigation:
            return None if here == hit.uri and hit.level is Level.DETAIL else here
    return None


def _placed(
    lists: Mapping[str, Sequence[Candidate]], shares: Mapping[str, int] | None, most: int
) -> list[Candidate]:
    chosen: dict[Uri, Candidate] = {}
    for name, some in lists.items():
        share = most if shares is None else shares[name]
        for one in some[:share]:
            chosen.setdefault(one.head.uri, one)
    rest = [one for some in lists.values() for one in some if one.head.uri not in chosen]
    for one in sorted(rest, key=_rank):
        if len(chosen) >= most:
            break
        chosen.setdefault(one.head.uri, one)
    return sorted(chosen.values(), key=_rank)[:most]


def _rank(one: Candidate) -> tuple[float, Uri]:
    return -one.head.score, one.head.uri
