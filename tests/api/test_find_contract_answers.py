"""What a find answers and how it refuses: envelope, order, addresses, codes, before a real house."""

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from contextfind.config.model import EmbeddingSettings
from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, error_of, result_of
from tests.api.living import SHELVES, WRITE, Tenant, Town, living, town
from tests.stubs.embedder import Fault, stub_embedder

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTES = "viking://resources/notes"
SAME = "# Canary\n\nA canary release goes to five percent first.\n"
LONG = "A sentence about other things that fills the section. " * 14
HIT_FIELDS = [
    "uri",
    "context_type",
    "level",
    "score",
    "abstract",
    "tags",
    "overview",
    "category",
    "match_reason",
]
JSON = {"content-type": "application/json"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("answers")) as it:
        yield it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def users(place) -> list[Tenant]:
    """Alice has notes of which many say the same; bob has a memory of his own."""
    alice, bob = await place.account("acme", ["alice", "bob"])
    await alice.fill(
        {f"{NOTES}/d{n % 4}/{'copy' if n % 2 else 'n'}{n}.md": SAME for n in range(16)}
        | {f"{NOTES}/other{n}.md": f"something else {n}" for n in range(8)}
        | {
            "viking://~/memories/m.md": "canary memory",
            "viking://agent/skills/canary/SKILL.md": "---\nname: canary\ndescription: canary\n---\n",
            f"{NOTES}/steps.md": f"# Steps\n\n{LONG}\n\n## Rollback\n\n{LONG} Revert with quokkactl.\n",
        }
    )
    await bob.write("viking://~/memories/secret.md", "canary secret of bob")
    await bob.settled()
    return [alice, bob]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alice(users) -> Tenant:
    return users[0]


# the answer


async def test_an_answer_has_three_shelves_and_their_total(alice):
    body = (await alice.find(query="canary", limit=100)).json()
    assert list(body) == ["status", "result"]
    assert list(body["result"]) == [*SHELVES, "total"]
    assert body["result"]["total"] == sum(len(body["result"][shelf]) for shelf in SHELVES)
    assert all(body["result"][shelf] for shelf in SHELVES)


async def test_a_hit_has_the_promised_fields_in_their_order(alice):
    for hit in await alice.hits(query="canary", limit=100):
        assert list(hit) == HIT_FIELDS
        assert hit["overview"] is None
        assert isinstance(hit["category"], str)
        assert len(hit["abstract"]) <= 256
    for hit in await alice.hits(query="canary", read_content=True):
        assert list(hit) == [*HIT_FIELDS, "content"]


async def test_the_best_come_first_on_each_shelf_ties_by_address(alice):
    result = result_of(await alice.find(query="canary release percent", limit=100))
    for shelf in SHELVES:
        places = [(-hit["score"], hit["uri"]) for hit in result[shelf]]
        assert places == sorted(places)
    scores = [hit["score"] for hit in result["resources"]]
    assert len(set(scores)) < len(scores)  # there are ties


async def test_each_address_and_level_is_there_once_and_the_limit_is_filled(alice):
    everything = await alice.hits(query="canary", limit=100)
    assert len({(hit["uri"], hit["level"]) for hit in everything}) == len(everything)
    for limit in (1, 7, 20, len(everything)):
        assert await alice.hits(query="canary", limit=limit) == everything[:limit]


async def test_scores_are_finite_shares(alice):
    for query in ("canary", "quokkactl", "zzz", "金丝雀"):
        answer = await alice.find(query=query, limit=100)
        shown = json.loads(answer.content, parse_constant=pytest.fail)["result"]
        scores = [hit["score"] for shelf in SHELVES for hit in shown[shelf]]
        assert scores
        assert all(isinstance(score, float) and 0 <= score <= 1 for score in scores)


async def test_the_same_request_gives_the_same_bytes(alice):
    for body in (
        {"query": "canary", "limit": 50},
        {"query": "canary", "include_provenance": True},
        {"context_type": "resource"},
    ):
        assert len({(await alice.find(**body)).content for _ in range(3)}) == 1


async def test_a_reason_says_section_words_and_meaning(alice):
    (hit,) = await alice.hits(query="quokkactl", level=2, limit=1)
    assert re.match(
        r"section 'Steps > Rollback', words: quokkactl, meaning 0\.\d\d", hit["match_reason"]
    )
    for hit in await alice.hits(query="canary", limit=100):
        assert 0 < len(hit["match_reason"]) < 300


async def test_directories_are_shown_by_their_summary_files_which_can_be_read(alice):
    hits = await alice.hits(query="canary", level="0,1", limit=100)
    assert {hit["uri"].rpartition("/")[2] for hit in hits} == {".abstract.md", ".overview.md"}
    for hit in hits:
        name = {0: ".abstract.md", 1: ".overview.md"}[hit["level"]]
        assert hit["uri"].endswith(f"/{name}")
        assert result_of(await alice.get("content/read", uri=hit["uri"]))


# provenance


async def test_provenance_tells_what_was_searched_and_found(alice):
    asked = {"query": "canary", "limit": 5, "include_provenance": True}
    result = result_of(await alice.find(**asked))
    (told,) = result.pop("provenance")
    assert result == result_of(await alice.find(query="canary", limit=5))
    assert set(told) == {"query", "searched_directories", "matched_contexts", "thinking_trace"}
    assert told["query"] == "canary"
    assert f"{NOTES}/d0" in told["searched_directories"]
    shown = {hit["uri"]: hit for shelf in SHELVES for hit in result[shelf]}
    assert len(told["matched_contexts"]) == 5
    for matched in told["matched_contexts"]:
        hit = shown[matched["uri"]]
        assert matched["tier"] == f"L{hit['level']}"
        for field in ("context_type", "score", "match_reason"):
            assert matched[field] == hit[field]


async def test_provenance_names_nothing_of_another_user(users):
    asked = {"query": "canary secret", "limit": 100, "include_provenance": True}
    hers, his = [(await user.find(**asked)).text for user in users]
    assert "viking://user/bob" in his
    assert "bob" not in hers


@pytest.mark.parametrize("sent", [{}, {"include_provenance": False}, {"include_provenance": None}])
async def test_provenance_is_there_only_when_asked_for(alice, sent):
    assert "provenance" not in result_of(await alice.find(query="canary", **sent))


# addresses


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("http://x/y", "must start with viking://"),
        ("resources/notes", "must start with viking://"),
        ("viking:/resources", "must start with viking://"),
        ("viking://bogus/x", "unknown scope"),
        ("viking://temp/x", "unknown scope"),
        ("viking:///resources", "unknown scope"),
        ("viking://resources//notes", "empty segment"),
        ("viking://resources/./notes", "dotted segment"),
        ("viking://resources/../user/bob", "dotted segment"),
        ("viking://resources/%2e%2E/user", "dotted segment"),
        ("viking://resources/.%2e/user", "dotted segment"),
        ("viking://resources/a\x00b", "control character"),
        ("viking://resources/a\tb", "control character"),
        ("viking://resources/a\x9fb", "control character"),
        ("viking://resources/" + "x" * 2_100, "longer than"),
    ],
)
async def test_what_is_no_address_is_invalid_uri(alice, uri, reason):
    error = error_of(await alice.find(query="x", target_uri=uri), 400, "INVALID_URI")
    assert error["message"].startswith("target_uri: address ")
    assert reason in error["message"]
    assert reason in error["details"]["reason"]


async def test_another_spelling_of_the_same_characters_is_the_same_address(place):
    tenant = await place.tenant("spelling")
    await tenant.write("viking://resources/cafe\u0301/a.md", "quokka")
    for spelled in ("viking://resources/caf\u00e9/", "viking://resources/cafe\u0301"):
        (uri,) = await tenant.uris(query="quokka", target_uri=spelled, level=2)
        assert uri == "viking://resources/caf\u00e9/a.md"


async def test_another_users_tree_is_permission_denied_in_any_spelling(alice):
    for uri in ("viking://user/bob", "viking://user/bob/", "viking://user/bob/memories/x"):
        error_of(await alice.find(query="x", target_uri=uri), 403, "PERMISSION_DENIED")
        mixed = [NOTES, uri]
        error_of(await alice.find(query="x", target_uri=mixed), 403, "PERMISSION_DENIED")
    for uri in ("viking://user", "viking://"):
        assert "bob" not in (await alice.find(query="canary", target_uri=uri, limit=100)).text


# refusals


async def test_a_field_error_names_field_value_and_expectation_and_is_listed(alice):
    error = error_of(await alice.find(query="x", limit=0), 400, "INVALID_ARGUMENT")
    assert error["message"] == "limit is 0; expected at least 1"
    assert error["details"]["validation_errors"] == [
        {"loc": ["body", "limit"], "message": error["message"], "type": "greater_than_equal"}
    ]


async def test_every_answer_carries_a_request_id_and_its_time(alice):
    for body in ({"query": "x"}, {"query": ""}, {"query": 5}, {"target_uri": "x", "query": "x"}):
        answer = await alice.find(**body)
        assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])
        assert float(answer.headers["x-process-time"]) >= 0
    echoed = Tenant(alice.http, {**alice.key, "X-Request-ID": "my-id.7"})
    assert (await echoed.find(query="x")).headers["x-request-id"] == "my-id.7"
    silly = Tenant(alice.http, {**alice.key, "X-Request-ID": "a b\x09"})
    assert (await silly.find(query="x")).headers["x-request-id"] != "a b\x09"


async def test_unknown_fields_are_accepted_and_named(alice):
    plain = await alice.find(query="canary")
    assert "x-ignored-fields" not in plain.headers
    strays = {"session_id": "s", "peer_id": "p", "target_uris": ["x"], "max_results": 3}
    answer = await alice.find(query="canary", **strays)
    assert answer.content == plain.content
    assert answer.headers["x-ignored-fields"] == "max_results,peer_id,session_id,target_uris"


@pytest.mark.parametrize(
    "body", [{"mode": "context"}, {"mode": "deep"}, {"purpose": "x"}, {"max_tokens": 9}]
)
async def test_assembled_contexts_are_refused_with_mode_and_extra(alice, body):
    message = error_of(await alice.find(query="x", **body), 400, "INVALID_ARGUMENT")["message"]
    assert "mode" in message
    assert "extra" in message


async def test_the_mode_list_is_a_find(alice):
    plain = await alice.find(query="canary")
    assert (await alice.find(query="canary", mode="list")).content == plain.content


async def test_numbers_that_json_does_not_have_are_refused(alice):
    for name in ("NaN", "Infinity", "-Infinity"):
        raw = f'{{"query":"x","score_threshold":{name}}}'.encode()
        answer = await alice.http.post(FIND, content=raw, headers={**alice.key, **JSON})
        error_of(answer, 400, "INVALID_ARGUMENT")
        json.loads(answer.content, parse_constant=pytest.fail)


async def test_deeply_nested_bodies_are_refused_and_break_nothing(alice):
    for depth in (50, 900, 5_000):
        for raw in ('{"query":%s%s}', '{"query":"x","mode":%s%s}', '{"query":"x","level":%s%s}'):
            body = (raw % ("[" * depth, "]" * depth)).encode()
            answer = await alice.http.post(FIND, content=body, headers={**alice.key, **JSON})
            assert len(error_of(answer, 400, "INVALID_ARGUMENT")["message"]) < 300


async def test_a_body_that_is_too_large_is_resource_exhausted(tmp_path):
    async with living(tmp_path, ServerRules(max_body_bytes=2_000)) as http:
        answer = await Tenant(http).find(query="x" * 3_000)
        message = error_of(answer, 429, "RESOURCE_EXHAUSTED")["message"]
        assert message == "the request body is larger than 2000 bytes"


async def test_an_answer_that_takes_too_long_is_deadline_exceeded(tmp_path):
    async with living(tmp_path, ServerRules(answer_seconds=0)) as http:
        error_of(await Tenant(http).find(query="x"), 504, "DEADLINE_EXCEEDED")


async def test_a_house_that_is_still_opening_is_unavailable(tmp_path):
    rules = ServerRules(opening_seconds=0.01, patience_seconds=0.01)
    with stub_embedder() as stub:
        stub.always = Fault(delay=1.0)  # the dimension is asked for at the start
        remote = EmbeddingSettings(provider="openai", model="m", api_base=stub.base_url)
        async with living(tmp_path, rules, remote) as http:
            error = error_of(await Tenant(http).find(query="x"), 503, "UNAVAILABLE")
            assert error["details"] == {"retryable": True}
            stub.closing.set()


async def test_what_breaks_inside_is_internal_and_tells_only_the_request_id(api, caplog):
    api.house.finder.fault = RuntimeError("/data/secret.db is broken")
    answer = await api.http.post(FIND, json={"query": "x"}, headers={"X-Request-ID": "r-1"})
    error = error_of(answer, 500, "INTERNAL")
    assert error["message"] == "internal error; the server's log explains request r-1"
    assert "secret" not in answer.text
    assert "secret" in caplog.text


async def test_an_embedder_that_is_down_costs_the_meaning_and_says_so(tmp_path):
    with stub_embedder() as stub:
        remote = EmbeddingSettings(
            provider="openai", model="m", api_base=stub.base_url, dimension=8, timeout=1
        )
        async with living(tmp_path, embedding=remote) as http:
            me = Tenant(http)
            await me.write("viking://resources/a.md", "quokka")
            await me.settled()
            stub.always = Fault(status=401, reason="bad key sk-secret")
            answer = await me.find(query="quokka", level=2, telemetry=True)
            (hit,) = result_of(answer)["resources"]
            assert hit["score"] > 0
            assert answer.headers["x-notes"].startswith("searched%20by%20words%20only")
            assert answer.json()["telemetry"]["summary"]["notes"]
            by_filter = await me.find(context_type="resource", level=2)
            assert result_of(by_filter)["total"] == 1
            assert "x-notes" not in by_filter.headers


# read your writes


async def test_what_was_written_is_found_and_what_was_removed_is_not_found_at_once(place):
    tenant = await place.tenant("writes")
    uri = "viking://resources/a/b.md"
    for round_ in range(3):
        await tenant.write(uri, f"quokka number{round_}")
        (hit,) = await tenant.hits(query=f"number{round_}", level=2, read_content=True)
        assert hit["content"] == f"quokka number{round_}"
        await tenant.remove(uri)
        assert await tenant.uris(query="quokka", level=2) == []
        assert await tenant.uris(context_type="resource", level=2) == []


async def test_many_at_once_get_the_same_answer_as_one_alone(alice):
    alone = (await alice.find(query="canary", limit=30)).content
    together = await asyncio.gather(*(alice.find(query="canary", limit=30) for _ in range(20)))
    assert {answer.content for answer in together} == {alone}


async def test_a_file_keeps_its_address_however_long_it_is(place):
    tenant = await place.tenant("long")
    text = "\n\n".join(
        f"## Part {n}\n\nwords{n} of a long file. " + "more " * 200 for n in range(60)
    )
    body = {"uri": "viking://resources/docs/release/rollback.md", "content": text, "wait": True}
    result_of(await tenant.post(WRITE, body))
    for part in (0, 30, 59):
        assert await tenant.uris(query=f"words{part}", level=2) == [body["uri"]]
