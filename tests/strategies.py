"""Random trees, logs, filters, scopes and probes over two accounts with two users each."""

# ruff: noqa: S311 - data for tests, no secrets

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import strategies as st

from contextfind.domain.filters import (
    And,
    Between,
    Contains,
    Everything,
    Filter,
    Not,
    Nothing,
    Numbered,
    OneOf,
    Or,
    Prefixed,
    Tagged,
    Under,
    Used,
)
from contextfind.domain.records import ContextType, Level, Record, RecordId
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.index import Probe
from contextfind.ports.store import Change
from tests.builders import NOON, make_change, make_record, make_removal, unit

ACCOUNTS = ("acme", "bolt")
USERS = ("ann", "ben")
TAGS = ("kind=note", "lang=en", "lang=zh", "team=ops")
# neighbours of "/" in the sort order, prefixes of each other, capitals, Chinese, wildcards of SQL
NAMES = ("a", "ab", "a-b", "a.md", "a0", "A", "b", "b%", "b_c", "文档")
WORDS = ("rollback", "deploy", "cache", "token", "memory", "42", "回滚", "the")
ROOTS = (
    "viking://resources",
    "viking://agent/skills",
    "viking://user/ann/memories",
    "viking://user/ben",
)
PLACES = tuple(
    Uri.parse(place)
    for place in (
        *ROOTS,
        "viking://",
        "viking://user",
        "viking://resources/a",
        "viking://resources/a/b",
        "viking://resources/文档",
        "viking://user/ann",
        "viking://resources/none",
    )
)
VECTOR_SEEDS = 12  # few, so that equal vectors and therefore ties are common


def _moment(hours: int | None) -> datetime | None:
    return None if hours is None else NOON + timedelta(hours=hours)


_hours = st.none() | st.integers(0, 24)
_parents = st.sampled_from(PLACES).map(lambda uri: uri.text) | st.sampled_from(
    ("", "viking://resources/", "viking://resources/a/", "resources")
)
_text_filters = st.one_of(
    st.frozensets(st.sampled_from(("0", "1", "2", "7"))).map(lambda v: OneOf("level", v)),
    st.frozensets(st.sampled_from([kind.value for kind in ContextType])).map(
        lambda v: OneOf("context_type", v)
    ),
    st.frozensets(st.sampled_from((*NAMES, "")), max_size=3).map(lambda v: OneOf("name", v)),
    st.frozensets(_parents, max_size=3).map(lambda v: OneOf("parent", v)),
)
_leaves = st.one_of(
    st.just(Everything()),
    st.just(Nothing()),
    st.sampled_from((*TAGS, "no=tag")).map(Tagged),
    _text_filters,
    st.builds(
        lambda field, since, until: Between(field, _moment(since), _moment(until)),
        st.sampled_from(("created_at", "updated_at")),
        _hours,
        _hours,
    ),
    st.sampled_from(PLACES).map(Under),
    st.builds(
        lambda uri, tail: Prefixed((uri.text + tail) if tail is not None else uri.text[:-1]),
        st.sampled_from(PLACES),
        st.sampled_from(("", "/", "/a", "a", None)),
    ),
    st.sampled_from(("", "vik", "viking:/", "viking://u", "http")).map(Prefixed),
    st.sampled_from(("", "a", "A", "b", "%", "_", ".m", "文", "zz")).map(
        lambda text: Contains("name", text)
    ),
    st.sampled_from(("", "=", "lang=", "e", "=zh", "K", "%")).map(
        lambda text: Contains("tags", text)
    ),
    st.lists(st.integers(-1, 60).map(RecordId), max_size=20).map(Numbered.of),
)
_counts = st.none() | st.integers(-1, 4)
_store_leaves = st.one_of(
    st.builds(Used, _counts, _counts),
    st.sampled_from(("", "about", "a.", "About", "roll", "文档", "_", "\0", "zz")).map(
        lambda text: Contains("abstract", text)
    ),
)


def _combined(leaves: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, max_size=3).map(lambda parts: Or(tuple(parts))),
            inner.map(Not),
        ),
        max_leaves=6,
    )


filters = _combined(_leaves)  # what an index answers
store_filters = _combined(_leaves | _store_leaves)  # and with what only the store knows


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    """Any account and user, also unknown ones, with no, one or some targets."""
    wanted = draw(st.lists(st.sampled_from(PLACES), max_size=3, unique=True))
    if draw(st.booleans()):
        wanted = [ROOT]
    targets = tuple(u for u in wanted if not any(u != o and u.is_under(o) for o in wanted))
    account = draw(st.sampled_from((*ACCOUNTS, "nobody")))
    return Scope(account, draw(st.sampled_from((*USERS, ""))), targets)


@st.composite
def probes(draw: st.DrawFn, limits: Sequence[int] = (1, 2, 3, 5, 50)) -> Probe:
    """Any probe: with or without vector, known and unknown terms, repeats among them."""
    seed = draw(st.none() | st.integers(0, VECTOR_SEEDS + 3))
    terms = draw(st.lists(st.sampled_from((*WORDS, "unheard")), max_size=4))
    return Probe(
        scope=draw(scopes()),
        where=draw(st.just(Everything()) | filters),
        limit=draw(st.sampled_from(limits)),
        vector=None if seed is None else unit(seed),
        terms=tuple(terms),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    account: str
    uri: Uri
    level: Level


def _random_place(rng: random.Random) -> _Place:
    if rng.random() < 0.05:
        return _Place(rng.choice(ACCOUNTS), ROOT, Level(rng.choice((0, 1))))
    uri = Uri.parse(rng.choice(ROOTS))
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
        uri = uri.child(rng.choice(NAMES))
    return _Place(rng.choice(ACCOUNTS), uri, Level(rng.choice((0, 1, 2, 2, 2))))


def _random_record(rng: random.Random, record_id: int, place: _Place) -> Record:
    return make_record(
        record_id,
        place.uri.text,
        place.level,
        account=place.account,
        context_type=rng.choice(list(ContextType)),
        tags=tuple(tag for tag in TAGS if rng.random() < 0.3),
        created_at=NOON + timedelta(hours=rng.randrange(24)),
        updated_at=NOON + timedelta(hours=rng.randrange(24)),
        active_count=rng.choice((0, 0, 0, 1, 2, 3)),
    )


def _random_change(rng: random.Random, position: int, record: Record, vector_seeds: int) -> Change:
    texts = [
        " ".join(rng.choice(WORDS) for _ in range(rng.randrange(6)))
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))
    ]
    seeds = [rng.randrange(vector_seeds) for _ in texts] if rng.random() < 0.8 else None
    return make_change(position, record, texts, seeds)


def random_log(rng: random.Random, length: int, vector_seeds: int = VECTOR_SEEDS) -> list[Change]:
    """Return a log that puts, changes, removes and puts again; one live id per place.

    Positions rise, with gaps.
    """
    live: dict[_Place, Record] = {}
    log: list[Change] = []
    position = 0
    for number in range(1, length + 1):
        position += rng.choice((1, 1, 1, 4))
        place = rng.choice(list(live)) if live and rng.random() < 0.3 else _random_place(rng)
        known = live.get(place)
        if known is not None and rng.random() < 0.4:
            log.append(make_removal(position, live.pop(place).id))
            continue
        fresh = _random_record(rng, number if known is None else known.id, place)
        if known is not None and rng.random() < 0.5:
            fresh = replace(known, tags=fresh.tags, context_type=fresh.context_type)
        live[place] = fresh
        log.append(_random_change(rng, position, fresh, vector_seeds))
    return log


def logs(max_length: int = 40) -> st.SearchStrategy[list[Change]]:
    """Random logs; they shrink by length."""
    return st.builds(
        lambda seed, length: random_log(random.Random(seed), length),
        st.integers(0, 2**32),
        st.integers(0, max_length),
    )


def last_changes(log: Sequence[Change]) -> dict[RecordId, Change]:
    """Return what a log leaves: the last change of each record that is still there."""
    last = {change.id: change for change in log}
    return {key: change for key, change in last.items() if change.record is not None}


def batches(log: Sequence[Change], seed: int) -> list[Sequence[Change]]:
    """Cut a log into consecutive batches, some of them empty."""
    rng = random.Random(seed)
    cuts = sorted(rng.randrange(len(log) + 1) for _ in range(rng.randrange(6)))
    bounds = [0, *cuts, len(log)]
    return [log[start:stop] for start, stop in pairwise(bounds)]
