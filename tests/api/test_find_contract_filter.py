"""The filter language, sentence by sentence, through a find before a real house."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from tests.api.caller import FIND, error_of, result_of
from tests.api.living import Tenant, town

pytestmark = pytest.mark.asyncio(loop_scope="module")

Where = dict[str, Any]
ATLAS, ATLAS2 = "viking://resources/atlas", "viking://resources/atlas2"
A, B, DEEP, C = f"{ATLAS}/a.md", f"{ATLAS}/b.md", f"{ATLAS}/deep/d.md", f"{ATLAS2}/c.md"
MEMORY = "viking://user/alice/memories/m.md"
SECRET = "viking://user/bob/memories/s.md"
DAY_OF = {A: 1, B: 2, DEEP: 3, C: 4, MEMORY: 5}
TAGS = {A: ["team=docs", "prio=1"], B: ["team=ops"], C: ["team=docs"]}
FILES = {"op": "must", "field": "level", "conds": [2]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def users(tmp_path_factory) -> AsyncIterator[Sequence[Tenant]]:
    """Each file of alice was written at noon of its day in March."""
    async with town(tmp_path_factory.mktemp("filters")) as place:
        alice, bob = await place.account("acme", ["alice", "bob"])
        for uri, day in DAY_OF.items():
            place.watch.now = datetime(2026, 3, day, 12, tzinfo=UTC)
            await alice.write(uri, f"quokka text of day {day}", tags=TAGS.get(uri))
        place.watch.now = datetime(2026, 3, 10, 12, tzinfo=UTC)
        await bob.write(SECRET, "quokka secret")
        await bob.settled()
        yield alice, bob


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alice(users) -> Tenant:
    return users[0]


def must(field: str, *conds: object, op: str = "must") -> Where:
    return {"op": op, "field": field, "conds": list(conds)}


def both(*conds: Where) -> Where:
    return {"op": "and", "conds": list(conds)}


async def files(tenant: Tenant, where: object, **more: object) -> set[str]:
    """Return the files that match, the same with a query and without."""
    listed = await tenant.uris(filter=both(FILES, where), limit=100, **more)
    searched = await tenant.uris(query="quokka", filter=where, level=2, limit=100, **more)
    assert set(listed) == set(searched)
    return set(listed)


# what each operator means

EVERY = set(DAY_OF)
NOON2, NOON4 = "2026-03-02T12:00:00Z", "2026-03-04T12:00:00Z"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        # any of, none of
        (must("name", "a.md", "c.md"), {A, C}),
        (must("name", "a.md", "c.md", op="must_not"), EVERY - {A, C}),
        ({"op": "must", "field": "name", "conds": "a.md"}, {A}),
        ({"op": "must", "field": "level", "conds": 2}, EVERY),
        (must("name"), set()),
        (must("name", op="must_not"), EVERY),
        # ranges of numbers and times
        ({"op": "range", "field": "level", "gte": 2}, EVERY),
        ({"op": "range", "field": "level", "gt": 0, "lt": 2}, set()),
        ({"op": "range", "field": "updated_at", "gte": NOON2, "lte": NOON4}, {B, DEEP, C}),
        ({"op": "range", "field": "updated_at", "gt": NOON2, "lt": NOON4}, {DEEP}),
        ({"op": "time_range", "field": "updated_at", "gt": NOON2, "lt": NOON4}, {DEEP}),
        ({"op": "time_range", "field": "created_at", "gte": "6d"}, {C, MEMORY}),
        ({"op": "range_out", "field": "updated_at", "gte": NOON2, "lte": NOON4}, {A, MEMORY}),
        ({"op": "range", "field": "active_count", "gte": 1_000}, set()),
        # and, or, not
        (both(must("tags", "team=docs"), must("name", "a.md", "b.md")), {A}),
        ({"op": "or", "conds": [must("name", "a.md"), must("tags", "team=ops")]}, {A, B}),
        ({"op": "not", "conds": [must("tags", "team=docs")]}, EVERY - {A, C}),
        ({"op": "not", "cond": must("tags", "team=docs")}, EVERY - {A, C}),
        ({"op": "or", "conds": []}, set()),
        ({"op": "not", "cond": {"op": "or", "conds": []}}, EVERY),
        # fields
        (must("context_type", "memory"), {MEMORY}),
        (must("tags", "team=docs"), {A, C}),
        (must("search_tags", "team=docs"), {A, C}),
        # addresses: path meaning, direct children, plain text
        (must("uri", ATLAS), {A, B, DEEP}),
        (must("uri", f"{ATLAS}/"), {A, B, DEEP}),
        (must("uri", A, "viking://~/memories"), {A, MEMORY}),
        (must("uri", ATLAS, op="must_not"), {C, MEMORY}),
        (must("parent_uri", ATLAS), {A, B}),
        ({"op": "prefix", "field": "uri", "prefix": ATLAS}, {A, B, DEEP, C}),
        ({"op": "prefix", "field": "uri", "prefix": f"{ATLAS}/b"}, {B}),
        # contains
        ({"op": "contains", "field": "name", "substring": "b."}, {B}),
        ({"op": "contains", "field": "abstract", "substring": "day 3"}, {DEEP}),
        ({"op": "contains", "field": "tags", "substring": "team="}, {A, B, C}),
    ],
)
async def test_a_filter_keeps_exactly_what_it_says(alice, where, expected):
    assert await files(alice, where) == expected


@pytest.mark.parametrize("empty", [{}, {"op": "and", "conds": []}, None])
async def test_an_empty_filter_is_no_condition(alice, empty):
    plain = await alice.find(query="quokka", limit=100)
    assert (await alice.find(query="quokka", limit=100, filter=empty)).content == plain.content
    error_of(await alice.find(filter=empty), 400, "INVALID_ARGUMENT")


async def test_a_filter_is_combined_with_all_other_conditions(alice):
    docs = must("tags", "team=docs")
    assert await files(alice, docs, target_uri=ATLAS) == {A}
    assert await files(alice, docs, tags=["prio=1"]) == {A}
    assert await files(alice, docs, since="2026-03-02") == {C}
    assert await files(alice, docs, context_type="memory") == set()
    assert await alice.uris(query="quokka", filter=docs, level=0) == []


# refusals


def nested(depth: int) -> Where:
    where: Where = must("level", 2)
    for _ in range(depth):
        where = {"op": "not", "cond": where}
    return where


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ({"op": "eq", "field": "level", "conds": [2]}, "filter.op is 'eq'"),
        (both(FILES, {"op": "regex", "field": "name"}), "filter.conds[1].op is 'regex'"),
        (both(FILES, both(must("size", 1))), "filter.conds[1].conds[0].field is 'size'"),
        ({"op": "not", "cond": must("owner", "bob")}, "filter.cond.field is 'owner'"),
        (must("account", "globex"), "filter.field is 'account'"),
        ({"op": "must", "field": "level", "conds": [2, "x"]}, "filter.conds[1] is 'x'"),
        (must("name", 5), "filter.conds[0] is 5"),
        (must("uri", "docs"), "filter.conds[0]"),
        (must("tags", "a"), "filter.conds[0] is 'a'"),
        ({"op": "range", "field": "level"}, "filter"),
        ({"op": "range", "field": "level", "gte": "many"}, "filter.gte is 'many'"),
        ({"op": "range", "field": "updated_at", "gte": "soon"}, "filter.gte is 'soon'"),
        ({"op": "range", "field": "name", "gte": "a"}, "filter.field is 'name'"),
        ({"op": "prefix", "field": "name", "prefix": "a"}, "filter.field is 'name'"),
        ({"op": "prefix", "field": "uri"}, "filter.prefix is missing"),
        ({"op": "contains", "field": "uri", "substring": "a"}, "filter.field is 'uri'"),
        ({"op": "not", "conds": [FILES, FILES]}, "filter.conds"),
        ({"op": "and", "conds": FILES}, "filter.conds is {"),
        ({"op": "and", "conds": ["x"]}, "filter.conds[0] is 'x'"),
        ({"op": "must", "field": "level", "conds": [2], "boost": 3}, "filter.boost is 3"),
        ({"field": "level", "conds": [2]}, "filter.op is missing"),
        ("level=2", "filter is 'level=2'"),
        ([FILES], "filter is ["),
    ],
)
async def test_what_cannot_be_understood_is_refused_with_its_place(alice, where, place):
    for query in ("quokka", ""):
        answer = await alice.find(query=query, filter=where)
        assert error_of(answer, 400, "INVALID_ARGUMENT")["message"].startswith(place)


async def test_more_than_200_nodes_or_20_levels_are_refused(alice):
    wide = both(*(must("level", 2) for _ in range(199)))
    assert await alice.uris(filter=wide, level=2, limit=100)
    assert await alice.uris(filter=nested(18), level=2, limit=100)
    for where in (both(*(must("level", 2) for _ in range(200))), nested(20), nested(800)):
        message = error_of(await alice.find(filter=where), 400, "INVALID_ARGUMENT")["message"]
        assert message.startswith("filter")
        assert len(message) < 600


# tenants


@pytest.mark.parametrize(
    "where",
    [
        must("uri", "viking://user"),
        must("uri", "viking://"),
        {"op": "prefix", "field": "uri", "prefix": "viking://user/bob"},
        {"op": "prefix", "field": "uri", "prefix": "viking://"},
        must("name", "nothing", op="must_not"),
        {"op": "not", "cond": {"op": "or", "conds": []}},
        {"op": "or", "conds": [FILES, must("name", "s.md")]},
        {"op": "contains", "field": "abstract", "substring": "secret"},
        {"op": "range_out", "field": "level", "gte": 7},
    ],
)
async def test_no_filter_widens_what_its_caller_may_see(users, where):
    alice, bob = users
    assert SECRET not in await files(alice, where)
    assert MEMORY not in await files(bob, where)
    for user, foreign in ((alice, "bob"), (bob, "alice")):
        body = {"query": "quokka secret", "filter": where, "limit": 100}
        assert f"user/{foreign}" not in (await user.find(**body)).text


async def test_another_users_tree_in_a_filter_shows_nothing(alice):
    for uri in ("viking://user/bob", SECRET):
        body = {"query": "quokka", "filter": must("uri", uri), "limit": 100}
        assert result_of(await alice.post(FIND, body))["total"] == 0
