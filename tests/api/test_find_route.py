import json
from datetime import timedelta

import pytest

from contextfind.domain.errors import ContextFindError, PermissionDeniedError, UnavailableError
from contextfind.domain.filters import And, Between, Everything, Nothing, OneOf, Tagged, Under
from contextfind.domain.identity import Identity
from contextfind.domain.records import ContextType, Level
from contextfind.domain.results import FindResult, MatchedContext
from contextfind.domain.uri import Uri
from contextfind.server.rules import ServerRules
from contextfind.server.wire.find import FindBody
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import NOW, FakeHouse


def hit(uri="viking://resources/a.md", score=0.5, level=Level.DETAIL, **more):
    return MatchedContext(
        Uri(uri), ContextType.RESOURCE, level, "about a", score, ("kind=note",), "words", **more
    )


async def test_a_find_answers_three_shelves_and_their_total(api):
    api.house.finder.answer = FindResult((), (hit(),), ())
    response = await api.find(query="rollback")
    assert result_of(response) == {
        "memories": [],
        "resources": [
            {
                "uri": "viking://resources/a.md",
                "context_type": "resource",
                "level": 2,
                "score": 0.5,
                "abstract": "about a",
                "tags": ["kind=note"],
                "overview": None,
                "category": "",
                "match_reason": "words",
            }
        ],
        "skills": [],
        "total": 1,
    }
    assert set(response.json()) == {"status", "result"}


async def test_directories_are_shown_by_the_file_name_of_their_level(api):
    folder = "viking://resources/docs"
    api.house.finder.answer = FindResult(
        (), (hit(folder, level=Level.ABSTRACT), hit(folder, level=Level.OVERVIEW)), ()
    )
    shown = result_of(await api.find(query="x"))["resources"]
    assert [one["uri"] for one in shown] == [folder + "/.abstract.md", folder + "/.overview.md"]


async def test_content_is_there_only_when_it_was_read(api):
    api.house.finder.answer = FindResult((), (hit(content=""), hit("viking://resources/b.md")), ())
    first, second = result_of(await api.find(query="x", read_content=True))["resources"]
    assert api.house.finder.question.read_content
    assert first["content"] == ""
    assert "content" not in second


async def test_a_bare_query_asks_everything_with_the_defaults_of_the_api(api):
    await api.find(query="rollback")
    question = api.house.finder.question
    assert question.query == "rollback"
    assert question.targets is None
    assert question.limit == 10
    assert question.score_threshold is None
    assert question.where == Everything()
    assert not question.selective


async def test_every_field_that_may_be_null_counts_as_absent_then(api):
    names = {*FindBody.model_fields, "purpose"} - {"query"}
    response = await api.find(query="x", **dict.fromkeys(names))
    assert result_of(response)["total"] == 0
    assert "x-ignored-fields" not in response.headers
    assert api.house.finder.question.where == Everything()


@pytest.mark.parametrize("sent", ["", [], "  ", [""]])
async def test_a_blank_target_is_everything(api, sent):
    await api.find(query="x", target_uri=sent)
    assert api.house.finder.question.targets is None


async def test_targets_are_normalised_expanded_and_named_once(api):
    sent = ["viking://~/memories/", "viking://resources/a/", "viking://resources/a"]
    await api.find(query="x", target_uri=sent)
    assert api.house.finder.question.targets == (
        Uri("viking://user/default/memories"),
        Uri("viking://resources/a"),
    )


@pytest.mark.parametrize(
    "sent", ["http://x/y", "viking://bogus/x", "viking://resources/../user", "docs", ["", "docs"]]
)
async def test_a_target_that_is_no_address_is_invalid_uri(api, sent):
    error = error_of(await api.find(query="x", target_uri=sent), 400, "INVALID_URI")
    assert error["message"].startswith("target_uri: address ")
    assert error["details"]["validation_errors"][0]["loc"] == ["body", "target_uri"]
    assert api.house.finder.asked == []


@pytest.mark.parametrize(
    ("sent", "limit"),
    [({"limit": "7"}, 7), ({"limit": 50, "node_limit": 3}, 3), ({"limit": 100}, 100)],
)
async def test_node_limit_wins_and_digits_in_text_are_a_number(api, sent, limit):
    await api.find(query="x", **sent)
    assert api.house.finder.question.limit == limit


@pytest.mark.parametrize(
    ("sent", "levels"),
    [(0, {"0"}), ("0,2", {"0", "2"}), ([1, "2"], {"1", "2"}), ("1", {"1"}), ([2.0], {"2"})],
)
async def test_levels_choose_candidates_but_select_nothing_by_themselves(api, sent, levels):
    await api.find(query="x", level=sent)
    assert api.house.finder.question.where == OneOf("level", frozenset(levels))
    error_of(await api.find(level=sent), 400, "INVALID_ARGUMENT")


@pytest.mark.parametrize("sent", ["", [], "0,1,2", [0, 1, 2]])
async def test_all_levels_are_no_condition(api, sent):
    await api.find(query="x", level=sent)
    assert api.house.finder.question.where == Everything()


@pytest.mark.parametrize("sent", ["memory,skill", ["memory", "skill"], " memory , skill "])
async def test_context_types_are_a_union_and_enough_without_a_query(api, sent):
    await api.find(context_type=sent)
    question = api.house.finder.question
    assert question.where == OneOf("context_type", frozenset({"memory", "skill"}))
    assert question.selective
    assert question.query == ""


async def test_tags_and_times_are_conditions_that_must_all_hold(api):
    await api.find(
        tags=[" TEAM=Docs ", "lang=en"], since="2h", until="2026-03-01", time_field="created_at"
    )
    question = api.house.finder.question
    assert question.selective
    assert isinstance(question.where, And)
    end_of_day = NOW.replace(hour=23, minute=59, second=59, microsecond=999999)
    assert question.where.parts == (
        Tagged("lang=en"),
        Tagged("team=docs"),
        Between("created_at", NOW - timedelta(hours=2), end_of_day),
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"query": 5}, "query is 5; "),
        ({"query": "x", "limit": 0}, "limit is 0; "),
        ({"query": "x", "limit": 101}, "limit is 101; "),
        ({"query": "x", "limit": 2.5}, "limit is 2.5; "),
        ({"query": "x", "limit": True}, "limit is True; "),
        ({"query": "x", "limit": "many"}, "limit is 'many'; "),
        ({"query": "x", "node_limit": 0}, "node_limit is 0; "),
        ({"query": "x", "score_threshold": 1.5}, "score_threshold is 1.5; "),
        ({"query": "x", "score_threshold": -0.1}, "score_threshold is -0.1; "),
        ({"query": "x", "score_threshold": "abc"}, "score_threshold is 'abc'; "),
        ({"query": "x", "level": 3}, "level is 3; expected 0, 1 or 2"),
        ({"query": "x", "level": "abc"}, "level is 'abc'; expected 0, 1 or 2"),
        ({"query": "x", "level": [0, 9]}, "level is [0, 9]; expected 0, 1 or 2"),
        ({"query": "x", "level": True}, "level is True; "),
        ({"query": "x", "context_type": "banana"}, "context_type is 'banana'; expected memory"),
        ({"query": "x", "tags": "team=docs"}, "tags is 'team=docs'; "),
        ({"query": "x", "tags": ["abc"]}, "tags[0] is 'abc'; expected key=value"),
        ({"query": "x", "tags": ["a=1", "=x"]}, "tags[1] is '=x'; expected key=value"),
        ({"query": "x", "since": "garbage"}, "since is 'garbage'; expected an ISO 8601"),
        ({"query": "x", "since": "1h", "until": "2h"}, "since is '1h' and until is '2h'; "),
        ({"query": "x", "time_field": "foo"}, "time_field is 'foo'; "),
        (
            {"query": "x", "telemetry": {"events": True}},
            "telemetry is {'events': True}; expected true",
        ),
        ({"query": "x", "telemetry": {"summary": 1}}, "telemetry is {'summary': 1}; expected"),
        ({"query": "x", "image_url": "data:image/png;base64,AA"}, "image_url is 'data:image/png"),
        ({"query": "x", "filter": "level=2"}, "filter is 'level=2'; expected an object"),
        ({"query": "x", "mode": "context"}, "mode is 'context'; expected 'list'"),
        ({"query": ""}, "query is ''; expected a text"),
        ({"query": "  "}, "query is '  '; expected a text"),
        ({}, "query is ''; expected a text"),
        ({"target_uri": "viking://resources", "tags": []}, "query is ''; expected a text"),
    ],
)
async def test_a_wrong_value_is_named_with_what_was_expected_before_anything_is_asked(
    api, body, told
):
    error = error_of(await api.find(**body), 400, "INVALID_ARGUMENT")
    assert error["message"].startswith(told)
    first = error["details"]["validation_errors"][0]
    assert set(first) == {"loc", "message", "type"}
    assert first["loc"][0] == "body"
    assert first["message"] == error["message"]
    assert api.house.finder.asked == []


async def test_several_wrong_fields_are_all_listed(api):
    error = error_of(await api.find(query=1, limit=0), 400, "INVALID_ARGUMENT")
    assert [one["loc"] for one in error["details"]["validation_errors"]] == [
        ["body", "query"],
        ["body", "limit"],
    ]
    assert error["message"].endswith("(and 1 more)")


async def test_a_long_wrong_value_is_cut_in_the_message(api):
    error = error_of(await api.find(query="x", context_type="z" * 9999), 400, "INVALID_ARGUMENT")
    assert len(error["message"]) < 300


async def test_a_number_that_json_does_not_have_is_refused(api):
    body = b'{"query":"x","score_threshold":NaN}'
    sent = await api.http.post(FIND, content=body, headers={"content-type": "application/json"})
    assert error_of(sent, 400, "INVALID_ARGUMENT")["message"].startswith("score_threshold is nan; ")


@pytest.mark.parametrize("sent", [None, {}, {"op": "and", "conds": []}])
async def test_a_filter_without_a_condition_is_absent(api, sent):
    assert result_of(await api.find(query="x", filter=sent))["total"] == 0
    assert api.house.finder.question.where == Everything()
    error = error_of(await api.find(filter=sent), 400, "INVALID_ARGUMENT")
    assert error["message"].startswith("query is ''; expected a text, or at least one of filter")


async def test_a_filter_and_the_other_conditions_must_all_hold(api):
    sent = {"op": "must", "field": "uri", "conds": "viking://~/memories"}
    await api.find(filter=sent, tags=["k=v"], context_type="memory", level=2, since="2h")
    question = api.house.finder.question
    assert question.selective
    assert question.where == And(
        (
            Tagged("k=v"),
            OneOf("context_type", frozenset({"memory"})),
            Between("updated_at", NOW - timedelta(hours=2), None),
            Under(Uri("viking://user/default/memories")),
            OneOf("level", frozenset({"2"})),
        )
    )


async def test_a_filter_that_matches_nothing_is_a_condition(api):
    await api.find(filter={"op": "or", "conds": []})
    assert api.house.finder.question.where == Nothing()


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("", "filter is ''; expected an object such as"),
        ([], "filter is []; expected an object such as"),
        (0, "filter is 0; expected an object such as"),
        ({"op": "and", "conds": [{}, {"op": "mast"}]}, "filter.conds[1].op is 'mast'; expected"),
        ({"op": "must", "field": "account", "conds": "a"}, "filter.field is 'account'; expected"),
    ],
)
async def test_a_filter_that_cannot_be_understood_is_refused_and_never_dropped(api, sent, told):
    error = error_of(await api.find(query="x", filter=sent), 400, "INVALID_ARGUMENT")
    assert error["message"].startswith(told)
    assert error["details"]["validation_errors"][0]["message"] == error["message"]
    assert api.house.finder.asked == []


@pytest.mark.parametrize("depth", [21, 200, 900, 5_000, 100_000])
async def test_a_filter_of_any_depth_is_refused_readably(api, depth):
    nested = '{"op":"not","cond":' * depth + "{}" + "}" * depth
    body = f'{{"query":"x","filter":{nested}}}'
    sent = await api.http.post(FIND, content=body, headers={"content-type": "application/json"})
    error_of(sent, 400, "INVALID_ARGUMENT")
    assert api.house.finder.asked == []


@pytest.mark.parametrize("number", ["1e999", "NaN", "9" * 300, "9" * 5_000, "true"])
async def test_a_filter_with_a_number_that_cannot_be_compared_is_refused(api, number):
    body = f'{{"filter":{{"op":"range","field":"active_count","gt":{number}}}}}'
    sent = await api.http.post(FIND, content=body, headers={"content-type": "application/json"})
    error_of(sent, 400, "INVALID_ARGUMENT")
    assert api.house.finder.asked == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *(
            (path, body)
            for path in (FIND, "/api/v1/search/search")
            for body in ({"mode": "deep"}, {"mode": 1}, {"purpose": "coding"}, {"quotas": {}})
        ),
        (FIND, {"mode": "context"}),
    ],
)
async def test_other_modes_are_refused_in_words_that_clients_fall_back_on(api, path, body):
    error = error_of(
        await api.http.post(path, json={"query": "x", **body}), 400, "INVALID_ARGUMENT"
    )
    assert "mode" in error["message"]
    assert "extra" in error["message"]


async def test_unknown_fields_are_accepted_and_named(api):
    response = await api.find(query="x", peer_id="p", **{"a,b é": 1})
    assert result_of(response)["total"] == 0
    named = response.headers["x-ignored-fields"]
    assert named == "a%2Cb%20%C3%A9,peer_id"


async def test_very_many_unknown_fields_do_not_make_a_header_that_clients_refuse(api):
    response = await api.find(query="x", **{f"field{i}": i for i in range(2000)})
    assert 3_000 < len(response.headers["x-ignored-fields"]) <= 4_000


async def test_targets_that_do_not_exist_are_named_in_a_header(api):
    gone = (Uri("viking://resources/回滚, #1"), Uri("viking://resources/b"))
    api.house.finder.answer = FindResult((), (), (), unknown_targets=gone)
    header = (await api.find(query="x")).headers["x-unknown-targets"]
    assert header == "viking://resources/%E5%9B%9E%E6%BB%9A%2C%20%231,viking://resources/b"


async def test_telemetry_is_there_only_when_asked_for(api):
    api.house.finder.answer = FindResult(
        (), (hit(),), (), notes=("words only",), timings={"embed_ms": 1.23456}
    )
    for asked in (False, {"summary": False}):
        assert "telemetry" not in (await api.find(query="x", telemetry=asked)).json()
    for asked in (True, {"summary": True}, {}):
        response = await api.find(query="x", telemetry=asked)
        told = response.json()["telemetry"]
        assert told["id"] == response.headers["x-request-id"]
        assert told["summary"]["operation"] == "search.find"
        assert told["summary"]["status"] == "ok"
        assert told["summary"]["duration_ms"] >= 0
        assert told["summary"]["notes"] == ["words only"]
        assert told["summary"]["timings"] == {"embed_ms": 1.235}
        assert told["summary"]["returned"] == 1


async def test_what_was_done_without_is_told_in_a_header(api):
    api.house.finder.answer = FindResult((), (), (), notes=("searched by words only",))
    assert (await api.find(query="x")).headers["x-notes"] == "searched%20by%20words%20only"


async def test_the_same_request_gives_the_same_bytes(api):
    api.house.finder.answer = FindResult((), (hit(score=0.1 + 0.2),), ())
    first, second = await api.find(query="x"), await api.find(query="x")
    assert first.content == second.content
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_the_finder_is_told_who_asks_under_which_id_and_until_when(api):
    await api.http.post(FIND, json={"query": "x"}, headers={"X-Request-ID": "mine-1"})
    context, _ = api.house.finder.asked[-1]
    assert context.identity == Identity("default", "default", "user")
    assert context.request_id == "mine-1"
    assert context.deadline is not None


async def test_an_answer_that_takes_too_long_is_given_up():
    house = FakeHouse()
    house.finder.seconds = 5
    async with calling(app_of(house, ServerRules(answer_seconds=0.02))) as http:
        error_of(await http.post(FIND, json={"query": "x"}), 504, "DEADLINE_EXCEEDED")


async def test_a_timeout_inside_the_house_is_not_taken_for_the_deadline(api):
    api.house.finder.fault = TimeoutError()
    error_of(await api.find(query="x"), 500, "INTERNAL")


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (PermissionDeniedError("not yours"), 403, "PERMISSION_DENIED"),
        (UnavailableError("no index"), 503, "UNAVAILABLE"),
        (ContextFindError("secret path /data"), 500, "INTERNAL"),
        (RuntimeError("secret path /data"), 500, "INTERNAL"),
    ],
)
async def test_what_fails_in_the_house_has_the_same_envelope(api, fault, status, code):
    api.house.finder.fault = fault
    error = error_of(await api.find(query="x"), status, code)
    assert "secret" not in error["message"]


async def test_a_score_that_is_no_number_never_leaves_the_server(api):
    api.house.finder.answer = FindResult((), (hit(score=float("nan")),), ())
    error_of(await api.find(query="x"), 500, "INTERNAL")


async def test_lone_surrogates_in_stored_text_still_make_json(api):
    api.house.finder.answer = FindResult((), (hit(content="a\ud800b"),), ())
    response = await api.find(query="x", read_content=True)
    assert json.loads(response.content)["result"]["resources"][0]["content"] == "a\ud800b"


async def test_lone_surrogates_in_a_query_are_refused_readably(api):
    sent = b'{"query":"\\ud800"}'
    response = await api.http.post(FIND, content=sent, headers={"content-type": "application/json"})
    assert error_of(response, 400, "INVALID_ARGUMENT")["message"].startswith("query is '\\ud800'; ")
