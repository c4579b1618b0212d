"""The request table of find, row by row, before a real house."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from tests.api.caller import error_of, result_of
from tests.api.living import ROOT_KEY, SHELVES, Tenant, Town, town

pytestmark = pytest.mark.asyncio(loop_scope="module")

ATLAS = "viking://resources/projects/atlas"
ATLAS2 = "viking://resources/projects/atlas2"
RELEASE, ONCALL, RELEASE2 = f"{ATLAS}/release.md", f"{ATLAS}/oncall.md", f"{ATLAS2}/release.md"
ROLLBACK = "viking://resources/runbooks/rollback.md"
CHINESE = "viking://resources/中文资料/发布流程.md"
LIKES = "viking://user/alice/memories/likes.md"
SKILL = "viking://agent/skills/csv-report/SKILL.md"
NIGHT = "viking://user/bob/memories/night.md"

TEXTS = {
    RELEASE: "# Release\n\nFreeze, canary 5 %, full release.\n\n## Rollback\n\natlasctl rollback TKX-7741\n",
    ONCALL: "# On call\n\nPager rota of the atlas team.\n",
    RELEASE2: "# Release\n\nFreeze, canary 10 %, full release of the second system.\n",
    ROLLBACK: "# Rollback\n\nStop the release and roll back the canary.\n",
    CHINESE: "# 发布流程\n\n先灰度发布, 再全量发布, 失败时执行回滚步骤。\n",
    LIKES: "The user likes short release notes.",
    SKILL: "---\nname: csv-report\ndescription: make a report of a release as CSV\n---\n\n# CSV report\n",
    NIGHT: "bob's release night",
}
TAGS = {
    RELEASE: ["team=search", "stage=production"],
    RELEASE2: ["team=search", "stage=test"],
    ROLLBACK: ["team=ops"],
}
DAY_OF = {RELEASE: 1, ONCALL: 2, RELEASE2: 3, ROLLBACK: 4, CHINESE: 5, LIKES: 6, SKILL: 7, NIGHT: 8}
NOON_OF_TEN = datetime(2026, 3, 10, 12, tzinfo=UTC)


@dataclass
class Library:
    """A small tree of two users of one account; each file was written at noon of its day in March."""

    town: Town
    alice: Tenant
    bob: Tenant


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def library(tmp_path_factory) -> AsyncIterator[Library]:
    async with town(tmp_path_factory.mktemp("library")) as place:
        alice, bob = await place.account("acme", ["alice", "bob"])
        for uri, text in TEXTS.items():
            place.watch.now = datetime(2026, 3, DAY_OF[uri], 12, tzinfo=UTC)
            writer = bob if uri == NIGHT else alice
            await writer.write(uri, text, tags=TAGS.get(uri))
        place.watch.now = NOON_OF_TEN
        await alice.settled()
        await bob.settled()
        yield Library(place, alice, bob)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alice(library) -> Tenant:
    return library.alice


async def refused(tenant: Tenant, code: str = "INVALID_ARGUMENT", **body: object) -> str:
    return error_of(await tenant.find(**body), 400, code)["message"]


# query


async def test_text_is_found_by_its_words(alice):
    assert (await alice.uris(query="TKX-7741", level=2))[0] == RELEASE
    assert (await alice.uris(query="回滚步骤", level=2))[0] == CHINESE


async def test_the_query_defaults_to_empty(alice):
    assert await alice.uris(context_type="skill", level=2) == [SKILL]


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u3000", None])
async def test_a_blank_query_counts_as_empty(alice, blank):
    assert (await refused(alice, query=blank)).startswith("query is ")
    with_tag = await alice.hits(query=blank, tags=["team=ops"])
    assert [(hit["uri"], hit["score"]) for hit in with_tag] == [(ROLLBACK, 0)]


@pytest.mark.parametrize("query", ["a\x00b", '\\"a\\"', "%_*'; --", "🚀", "x" * 100_000])
async def test_any_text_is_a_query(alice, query):
    assert result_of(await alice.find(query=query))["total"] > 0


# target_uri


async def test_a_target_bounds_the_search_and_may_end_in_slashes(alice):
    plain = await alice.find(query="release", target_uri=ATLAS)
    slashed = await alice.find(query="release", target_uri=f"{ATLAS}//")
    assert plain.content == slashed.content
    uris = [hit["uri"] for hit in result_of(plain)["resources"]]
    assert RELEASE in uris
    assert all(uri.startswith(f"{ATLAS}/") for uri in uris)


async def test_a_file_may_be_a_target(alice):
    assert await alice.uris(query="release", target_uri=RELEASE) == [RELEASE]


async def test_targets_are_a_union_without_duplicates(alice):
    both = await alice.uris(query="release", target_uri=[ATLAS, ATLAS2], level=2)
    assert sorted(both) == sorted([RELEASE, ONCALL, RELEASE2])
    nested = ["viking://resources/projects", ATLAS, ATLAS, f"{ATLAS}/"]
    assert sorted(await alice.uris(query="release", target_uri=nested, level=2)) == sorted(both)


@pytest.mark.parametrize("everything", ["", [], [""], "viking://", None])
async def test_no_target_is_everything_the_caller_may_see(alice, everything):
    asked = {"query": "release", "limit": 100}
    found = await alice.find(**asked, target_uri=everything)
    assert found.content == (await alice.find(**asked)).content
    uris = {hit["uri"] for shelf in SHELVES for hit in result_of(found)[shelf]}
    assert set(TEXTS) - {NIGHT} <= uris
    assert not {uri for uri in uris if "/bob" in uri}


async def test_a_target_that_does_not_exist_contributes_nothing_and_is_named(alice):
    asked = [f"{ATLAS}/nope", ATLAS, "viking://resources/没有"]
    found = await alice.find(query="release", target_uri=asked, telemetry=True)
    rest = await alice.find(query="release", target_uri=ATLAS)
    assert result_of(found) == result_of(rest)
    named = found.headers["x-unknown-targets"]
    assert named == f"{ATLAS}/nope,viking://resources/%E6%B2%A1%E6%9C%89"
    summary = found.json()["telemetry"]["summary"]
    assert summary["unknown_targets"] == [f"{ATLAS}/nope", "viking://resources/没有"]
    assert "x-unknown-targets" not in rest.headers


async def test_targets_that_all_do_not_exist_find_nothing(alice):
    assert await alice.uris(query="release", target_uri=[f"{ATLAS}/nope"]) == []


async def test_the_summary_of_a_directory_as_a_target_stands_for_the_directory(alice):
    whole = await alice.find(query="release", target_uri=ATLAS)
    for name in (".abstract.md", ".overview.md"):
        shown = await alice.find(query="release", target_uri=f"{ATLAS}/{name}")
        assert shown.content == whole.content
        assert "x-unknown-targets" not in shown.headers


async def test_more_targets_than_a_search_can_hold_are_refused(alice):
    many = [f"viking://resources/t{number}" for number in range(1_001)]
    assert await refused(alice, query="x", target_uri=many) == (
        "target_uri has 1001 entries; expected at most 1000"
    )
    assert await alice.uris(query="x", target_uri=many[:1_000]) == []
    assert await alice.uris(context_type="resource", target_uri=many[:1_000]) == []


# context_type


@pytest.mark.parametrize("sent", ["memory,skill", " memory , skill ", ["memory", "skill"]])
async def test_context_types_are_a_union(alice, sent):
    result = result_of(await alice.find(query="release", context_type=sent))
    assert {shelf: bool(result[shelf]) for shelf in SHELVES} == {
        "memories": True,
        "resources": False,
        "skills": True,
    }


@pytest.mark.parametrize("sent", ["memory", "resource", "skill"])
async def test_each_context_type_fills_its_own_shelf(alice, sent):
    kinds = {hit["context_type"] for hit in await alice.hits(query="release", context_type=sent)}
    assert kinds == {sent}


@pytest.mark.parametrize("sent", ["banana", "memory,banana", ["memory", "banana"]])
async def test_another_context_type_is_refused(alice, sent):
    message = await refused(alice, query="x", context_type=sent)
    assert message == (
        f"context_type is {sent!r}; expected memory, resource, skill, or several of these"
    )


# limit, node_limit


async def test_the_limit_counts_the_three_shelves_together_and_is_filled(alice):
    for limit in (1, 5, 9):
        assert len(await alice.hits(query="release", limit=limit)) == limit


async def test_the_default_limit_is_ten(alice):
    assert len(await alice.hits(query="release")) == 10


async def test_node_limit_wins_over_limit(alice):
    assert len(await alice.hits(query="release", limit=9, node_limit=2)) == 2


@pytest.mark.parametrize("field", ["limit", "node_limit"])
async def test_both_limits_lie_between_1_and_100(alice, field):
    for value in (0, -1, 101, 1_000_000):
        message = await refused(alice, query="x", **{"limit": 5, field: value})
        assert message.startswith(f"{field} is {value}; ")
    for value in (1, 100):
        assert result_of(await alice.find(query="x", **{field: value}))["total"] >= 1


async def test_a_limit_may_be_text_but_no_fraction(alice):
    assert len(await alice.hits(query="release", limit="3")) == 3
    for value in (2.5, "2.5", True, [3]):
        message = await refused(alice, query="x", limit=value)
        assert message.startswith(f"limit is {value!r}; ")


# score_threshold


async def test_the_threshold_is_inclusive_on_the_score_that_is_shown(alice):
    hits = await alice.hits(query="release canary", limit=20)
    floor = hits[2]["score"]
    assert hits[-1]["score"] < floor
    cut = await alice.hits(query="release canary", limit=20, score_threshold=floor)
    assert cut == [hit for hit in hits if hit["score"] >= floor]


async def test_an_answer_is_never_padded_and_without_a_threshold_never_cut(alice):
    assert await alice.hits(query="release", score_threshold=1) == []
    everything = await alice.hits(query="zzzz", limit=100)
    assert await alice.hits(query="zzzz", limit=100, score_threshold=0) == everything
    assert any(hit["score"] == 0 for hit in everything)


@pytest.mark.parametrize("value", [-0.001, 1.001, 2, -1, "abc", True, [0.5]])
async def test_another_threshold_is_refused(alice, value):
    message = await refused(alice, query="x", score_threshold=value)
    assert message.startswith(f"score_threshold is {value!r}; ")


# tags


async def test_tags_are_lower_cased_and_trimmed_and_must_all_hold(alice):
    assert await alice.uris(tags=[" TEAM=Search "]) == [RELEASE, RELEASE2]
    assert await alice.uris(tags=["team=search", "stage = test"]) == [RELEASE2]
    assert await alice.uris(tags=["team=search", "stage=none"]) == []


async def test_of_a_key_that_is_sent_twice_the_last_value_counts(alice):
    assert await alice.uris(tags=["team=search", "team=ops"]) == [ROLLBACK]


async def test_only_the_own_tags_of_a_record_count(alice):
    assert {hit["level"] for hit in await alice.hits(tags=["team=search"])} == {2}
    assert await alice.uris(query="release", tags=["team=ops"], limit=50) == [ROLLBACK]


@pytest.mark.parametrize("tag", ["abc", "=x", "x=", "a=b=c", "", " = ", "="])
async def test_a_tag_without_exactly_one_equals_sign_between_two_texts_is_refused(alice, tag):
    message = await refused(alice, query="x", tags=["team=search", tag])
    assert message == f"tags[1] is {tag!r}; expected key=value with exactly one '='"


async def test_no_tags_are_no_condition(alice):
    plain = await alice.find(query="release")
    assert (await alice.find(query="release", tags=[])).content == plain.content
    assert (await alice.find(query="release", tags=None)).content == plain.content


# since, until, time_field


async def files(tenant: Tenant, **body: object) -> set[str]:
    return set(await tenant.uris(query="", level=2, limit=100, **body))


def written(first: int, last: int) -> set[str]:
    return {uri for uri, day in DAY_OF.items() if first <= day <= last and uri != NIGHT}


async def test_both_bounds_are_inclusive(alice):
    exact = {"since": "2026-03-03T12:00:00Z", "until": "2026-03-05T12:00:00Z"}
    assert await files(alice, **exact) == written(3, 5)
    after = {"since": "2026-03-03T12:00:00.000001Z", "until": "2026-03-05T11:59:59.999999Z"}
    assert await files(alice, **after) == written(4, 4)


async def test_a_bare_date_is_its_first_moment_as_since_and_its_last_as_until(alice):
    assert await files(alice, since="2026-03-04", until="2026-03-04") == {ROLLBACK}
    assert await files(alice, since="2026-03-05") == written(5, 9)
    assert await files(alice, until="2026-03-02") == written(1, 2)


@pytest.mark.parametrize(
    ("since", "first"),
    [("5d", 5), ("120h", 5), ("7200m", 5), ("432000s", 5), ("1w", 3), (" 5d ", 5), ("0s", 11)],
)
async def test_a_relative_time_counts_back_from_now(alice, since, first):
    assert await files(alice, since=since) == written(first, 9)


@pytest.mark.parametrize(
    "noon",
    [
        "2026-03-04T12:00:00Z",
        "2026-03-04T12:00:00",
        "2026-03-04 12:00:00",
        "2026-03-04T20:00:00+08:00",
        "2026-03-04T07:00:00-05:00",
    ],
)
async def test_times_without_a_zone_are_utc_and_zones_are_understood(alice, noon):
    assert await files(alice, since=noon, until=noon) == {ROLLBACK}


@pytest.mark.parametrize(
    "value",
    ["garbage", "2026-13-40", "2026-02-30", "5", "-2h", "2.5h", "7y", "2026", "today", "1e3s"],
)
async def test_a_time_that_cannot_be_read_is_refused(alice, value):
    for bound in ("since", "until"):
        message = await refused(alice, query="x", **{bound: value})
        assert message == (
            f"{bound} is {value!r}; expected an ISO 8601 time, a date YYYY-MM-DD, or a number "
            "with s, m, h, d or w such as 7d"
        )


@pytest.mark.parametrize(
    ("since", "until"),
    [("2026-03-05", "2026-03-04"), ("1h", "2h"), ("2026-03-04T00:00:01Z", "2026-03-04T00:00:00Z")],
)
async def test_since_after_until_is_refused(alice, since, until):
    message = await refused(alice, query="x", since=since, until=until)
    assert message == (
        f"since is {since!r} and until is {until!r}; expected since not to be after until"
    )


async def test_the_time_of_creation_stays_when_a_file_is_written_again(library):
    (dan,) = await library.town.account("times", ["dan"])
    uri, watch = "viking://resources/a.md", library.town.watch
    try:
        watch.now = NOON_OF_TEN - timedelta(days=9)
        await dan.write(uri, "first")
        watch.now = NOON_OF_TEN
        await dan.write(uri, "second")
    finally:
        watch.now = NOON_OF_TEN
    bounds = {"until": "2026-03-02"}
    assert await files(dan, **bounds, time_field="created_at") == {uri}
    assert await files(dan, **bounds, time_field="updated_at") == set()
    assert await files(dan, **bounds) == set()


async def test_a_time_field_without_bounds_is_no_condition(alice):
    plain = await alice.find(query="release")
    for more in ({}, {"since": "", "until": " "}, {"since": None}):
        asked = await alice.find(query="release", time_field="created_at", **more)
        assert asked.content == plain.content
    assert (await refused(alice, time_field="created_at")).startswith("query is ''; ")


async def test_another_time_field_is_refused(alice):
    message = await refused(alice, query="x", time_field="modified")
    assert message == "time_field is 'modified'; expected 'updated_at' or 'created_at'"


# level


@pytest.mark.parametrize(
    ("sent", "levels"),
    [
        (0, {0}),
        (1, {1}),
        (2, {2}),
        ("2", {2}),
        ("0,2", {0, 2}),
        ([0, 1], {0, 1}),
        (["0", 1], {0, 1}),
        ("0,1,2", {0, 1, 2}),
        (None, {0, 1, 2}),
        ([], {0, 1, 2}),
        ("", {0, 1, 2}),
    ],
)
async def test_levels_are_a_number_text_or_a_list_and_all_three_when_omitted(alice, sent, levels):
    hits = await alice.hits(query="release", level=sent, limit=100)
    assert {hit["level"] for hit in hits} == levels


@pytest.mark.parametrize("sent", [3, -1, "abc", [0, 9], True, 2.5, "0;1", {"level": 1}, [[0]]])
async def test_another_level_is_refused(alice, sent):
    message = await refused(alice, query="x", level=sent)
    assert message == (
        f"level is {sent!r}; expected 0, 1 or 2, a list of these, or text such as '0,2'"
    )


async def test_a_level_chooses_candidates_and_not_the_length_of_the_answer(alice):
    for level in (0, 1, 2):
        assert len(await alice.hits(query="release", level=level, limit=5)) == 5


# read_content


async def test_content_is_the_full_body_of_each_hit(alice):
    for hit in await alice.hits(query="release", read_content=True, limit=100):
        read = await alice.get("content/read", uri=hit["uri"])
        assert hit["content"] == result_of(read)
        if hit["level"] == 2:
            assert hit["content"] == TEXTS[hit["uri"]]


@pytest.mark.parametrize("sent", [{}, {"read_content": False}, {"read_content": None}])
async def test_without_read_content_there_is_none(alice, sent):
    assert all("content" not in hit for hit in await alice.hits(query="release", **sent))


# telemetry


@pytest.mark.parametrize("sent", [True, {"summary": True}])
async def test_telemetry_stands_at_the_top_level_when_asked_for(alice, sent):
    answer = (await alice.find(query="release", telemetry=sent)).json()
    assert list(answer) == ["status", "result", "telemetry"]
    assert answer["telemetry"]["summary"]["returned"] == answer["result"]["total"]


@pytest.mark.parametrize("sent", [{}, {"telemetry": False}, {"telemetry": {"summary": False}}])
async def test_telemetry_is_not_there_when_it_is_not_asked_for(alice, sent):
    assert list((await alice.find(query="release", **sent)).json()) == ["status", "result"]


@pytest.mark.parametrize("sent", [{"events": True}, {"summary": True, "x": 1}, {"summary": 1}])
async def test_other_keys_of_telemetry_are_refused(alice, sent):
    message = await refused(alice, query="x", telemetry=sent)
    expected = "expected true, false or an object with the boolean 'summary' alone"
    assert message == f"telemetry is {sent!r}; {expected}"


# nothing but conditions


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"target_uri": ATLAS},
        {"level": 2},
        {"target_uri": ATLAS, "level": [0, 1]},
        {"tags": [], "context_type": [], "filter": {}, "since": ""},
        {"limit": 5, "score_threshold": 0.5, "read_content": True},
        {"filter": {"op": "and", "conds": []}},
    ],
)
async def test_an_empty_query_needs_an_effective_condition(alice, body):
    assert await refused(alice, **body) == (
        "query is ''; expected a text, or at least one of filter, context_type, tags, since, until "
        "(target_uri or level alone select nothing)"
    )


@pytest.mark.parametrize(
    "body",
    [
        {"filter": {"op": "must", "field": "level", "conds": [2]}},
        {"context_type": "resource"},
        {"tags": ["team=search"]},
        {"since": "2026-03-01"},
        {"until": "2026-04-01"},
    ],
)
async def test_each_of_the_five_conditions_is_enough_and_scores_nothing(alice, body):
    hits = await alice.hits(**body, limit=100)
    assert hits
    assert {hit["score"] for hit in hits} == {0}


async def test_without_a_query_the_newest_come_first_the_same_on_every_call(alice):
    asked = {"context_type": "resource", "level": 2, "limit": 100}
    first = await alice.find(**asked)
    uris = [hit["uri"] for hit in result_of(first)["resources"]]
    assert uris == [CHINESE, ROLLBACK, RELEASE2, ONCALL, RELEASE]
    for _ in range(3):
        assert (await alice.find(**asked)).content == first.content


async def test_without_a_query_ties_are_broken_by_address(library):
    (eve,) = await library.town.account("ties", ["eve"])
    names = ["b.md", "a.md", "é.md", "a/z.md", "中.md", "B.md"]
    await eve.fill({f"viking://resources/ties/{name}": name for name in names})
    uris = await eve.uris(context_type="resource", level=2)
    result = result_of(await eve.find(context_type="resource", level=2))["resources"]
    assert [hit["uri"] for hit in result] == sorted(uris)
    assert len(uris) == len(names)


# who asks


async def test_a_user_sees_the_shared_tree_and_the_own_one(library):
    asked = {"query": "release", "limit": 100, "level": 2}
    hers, his = await library.alice.uris(**asked), await library.bob.uris(**asked)
    assert set(hers) - set(his) == {LIKES}
    assert set(his) - set(hers) == {NIGHT}


async def test_another_users_tree_as_a_target_is_permission_denied(library):
    error = error_of(
        await library.alice.find(query="x", target_uri="viking://user/bob/memories"),
        403,
        "PERMISSION_DENIED",
    )
    assert error["message"] == (
        "'viking://user/bob/memories' lies in another user's tree; your own is viking://user/alice"
    )


async def test_the_tilde_is_the_callers_own_tree_and_answers_expand_it(library):
    assert await library.alice.uris(query="x", target_uri="viking://~/memories", level=2) == [LIKES]
    assert await library.bob.uris(query="x", target_uri="viking://~", level=2) == [NIGHT]


async def test_headers_that_name_somebody_else_change_nothing(library):
    plain = await library.alice.find(query="release")
    claims = {
        "X-OpenViking-Account": "other",
        "X-OpenViking-User": "bob",
        "X-OpenViking-Agent": "a",
        "X-OpenViking-Actor-Peer": "p",
    }
    claiming = Tenant(library.town.http, {**library.alice.key, **claims})
    assert (await claiming.find(query="release")).content == plain.content


async def test_x_api_key_wins_over_authorization(library):
    plain = await library.alice.find(query="release")
    bearer = {"Authorization": f"Bearer {library.alice.key['X-API-Key']}"}
    assert (await Tenant(library.town.http, bearer).find(query="release")).content == plain.content
    both = {**library.alice.key, "Authorization": "Bearer nonsense"}
    assert (await Tenant(library.town.http, both).find(query="release")).content == plain.content
    wrong = {**bearer, "X-API-Key": "nonsense"}
    refusal = await Tenant(library.town.http, wrong).find(query="release")
    error_of(refusal, 401, "UNAUTHENTICATED")


async def test_without_a_key_nothing_is_found(library):
    error_of(await Tenant(library.town.http).find(query="x"), 401, "UNAUTHENTICATED")


async def test_the_root_key_reads_no_data_and_is_told_the_way(library):
    answer = await Tenant(library.town.http, ROOT_KEY).find(query="x")
    message = error_of(answer, 403, "PERMISSION_DENIED")["message"]
    assert "user key" in message
    assert "/api/v1/admin/accounts" in message
