"""search/search with `mode: "context"`, and search/recall, before a real house."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from contextfind.domain.tokens import estimated_tokens
from tests.api.caller import error_of, result_of
from tests.api.living import Tenant, Town, town
from tests.api.test_planned_search import server
from tests.stubs.chat import Asked, Turn, say, stub_chat

SEARCH = "/api/v1/search/search"
RECALL = "/api/v1/search/recall"
TREE = {
    "viking://resources/ops/rollback.md": "# Rollback\n\nStop the canary, then run atlasctl rollback.\n",
    "viking://resources/ops/long.md": "# Canary book\n\n"
    + "".join(
        f"## Part {n}\n\nThe canary is watched for {n} hours. {'words ' * 60}\n\n"
        for n in range(12)
    ),
    "viking://resources/dev/editor.md": "# Editor\n\nUndo with the key u.\n",
    "viking://agent/skills/rollback/SKILL.md": "---\nname: rollback\ndescription: Roll back the canary.\n---\n# Do\n\nRoll.\n",
    "viking://agent/skills/rollback/notes.md": "# Notes\n\nThe canary skill has notes.\n",
    "viking://~/memories/events/2026-01-02-canary.md": "# Canary failed\n\n2026-01-02\n\nThe canary failed.\n",
    "viking://~/memories/facts/canary.md": "# Canary\n\nThe canary is one host in a hundred.\n",
    "viking://~/memories/preferences/canary.md": "# Canary\n\nAnn likes canaries small.\n",
    "viking://~/memories/cases/canary.md": "# Canary\n\nA stuck canary was restarted.\n",
    "viking://~/peers/laptop/memories/events/canary.md": "# Canary\n\nThe canary of the laptop.\n",
}
# What clients of the existing server read, or may.
STATS = {
    "searched",
    "candidates",
    "excluded",
    "origins",
    "peer_scope",
    "quotas",
    "max_tokens",
    "used_tokens",
    "per_entry_cap",
    "returned",
    "dropped",
    "deduped",
    "detail",
    "tier_counts",
    "fill",
    "purpose",
    "query_expansion",
    "planned_queries",
    "score_threshold",
    "other_peer_penalties",
    "rewrite",
    "rewrite_usage",
    "dedup",
}
FILL = {"floor_tokens", "overview_upgrades", "full_upgrades", "spare_upgrades"}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory) -> AsyncIterator[Town]:
    async with town(tmp_path_factory.mktemp("context")) as it:
        yield it


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ann(place) -> Tenant:
    ann = await place.tenant("contexts")
    await ann.fill(TREE)
    return ann


async def context(who: Tenant, query: str = "canary", **more: Any) -> dict[str, Any]:
    return result_of(await who.post(SEARCH, {"query": query, "mode": "context", **more}))


def uris(found: dict[str, Any]) -> list[str]:
    return [entry["uri"] for entry in found["entries"]]


async def test_every_field_that_clients_know_is_there(ann):
    found = await context(ann, "how to roll back", max_tokens=500, telemetry=True)
    assert set(found) == {"entries", "rendered", "digest", "stats"}
    assert set(found["entries"][0]) == {"uri", "category", "score", "detail", "text", "origin"}
    assert set(found["stats"]) >= STATS
    assert found["stats"]["fill"].keys() == FILL
    assert found["stats"]["dedup"] == {"turns": 0, "status": "off", "cooled": 0, "turn": None}
    assert found["stats"]["searched"]["all"] > 0
    older = result_of(await ann.post(RECALL, {"query": "canary"}))
    assert set(older) == set(found)
    assert set(older["stats"]) >= {*STATS, "deprecated"}


async def test_the_block_is_the_entries_within_the_budget_best_first(ann):
    for tokens in (1, 40, 120, 500, 1_600, 20_000):
        found = await context(ann, max_tokens=tokens)
        stats = found["stats"]
        assert estimated_tokens(found["rendered"]) == stats["used_tokens"] <= tokens
        assert found["rendered"].count("<memory uri=") == len(found["entries"]) == stats["returned"]
        assert stats["candidates"] == stats["returned"] + stats["dropped"]
        scores = [entry["score"] for entry in found["entries"]]
        assert scores == sorted(scores, reverse=True)
        for entry in found["entries"]:
            assert entry["uri"] in found["rendered"]
            assert entry["text"] in found["rendered"]
            assert (entry["text"] == "") == (entry["detail"] == "uri")
    assert found["digest"] == ""


async def test_the_same_call_gives_the_same_bytes(ann):
    body = {"query": "canary", "mode": "context", "purpose": "chat"}
    first, second = await ann.post(SEARCH, body), await ann.post(SEARCH, body)
    assert first.content == second.content
    other = await context(ann, "editor")
    assert other["stats"]["fingerprint"] != result_of(first)["stats"]["fingerprint"]


async def test_a_long_file_is_quoted_where_it_fits_and_whole_where_there_is_room(ann):
    where = {"target_uri": "viking://resources/ops/long.md"}
    (quoted,) = (await context(ann, "watched for 7 hours", max_tokens=800, **where))["entries"]
    assert quoted["detail"] == "overview"
    assert "7 hours" in quoted["text"]
    (whole,) = (await context(ann, "watched for 7 hours", max_tokens=8_000, **where))["entries"]
    assert whole["detail"] == "full"
    assert whole["text"] == TREE["viking://resources/ops/long.md"].strip()


@pytest.mark.parametrize("tier", ["uri", "abstract", "overview", "full"])
async def test_no_entry_goes_beyond_the_detail_that_is_asked_for(ann, tier):
    order = ["uri", "abstract", "overview", "full"]
    found = await context(ann, detail=tier, max_tokens=20_000)
    shown = {order.index(entry["detail"]) for entry in found["entries"]}
    assert max(shown) == order.index(tier)
    assert found["stats"]["detail"] == tier
    by = await context(ann, detail={"resources": tier}, max_tokens=20_000)
    some = [one["detail"] for one in by["entries"] if one["category"] == "resources"]
    assert all(order.index(one) <= order.index(tier) for one in some)


async def test_noise_is_shown_no_deeper_than_its_abstract_unless_that_is_asked_for(ann):
    query = "undo " + " ".join(f"unheard{n}" for n in range(40))
    weak = await context(ann, query, max_tokens=20_000)
    assert weak["entries"]
    assert max(one["score"] for one in weak["entries"]) < 0.35
    assert {one["detail"] for one in weak["entries"]} == {"abstract"}
    asked = await context(ann, query, max_tokens=20_000, detail="full")
    assert "full" in {one["detail"] for one in asked["entries"]}


async def test_a_directory_is_not_shown_behind_what_lies_in_it(ann):
    shown = uris(await context(ann, limit=50))
    assert "viking://user/ann/memories/facts/canary.md" in shown
    for at, uri in enumerate(shown):
        assert not [better for better in shown[:at] if better.startswith(f"{uri}/")]


async def test_quotas_choose_by_category_and_places_left_go_to_the_best_others(ann):
    found = await context(ann, quotas={"events": 1, "skills": 2})
    assert set(found["stats"]["searched"]) == {"events", "skills"}
    assert [one["category"] for one in found["entries"]].count("skills") == 1
    assert len(found["entries"]) == 3
    assert uris(found).count("viking://agent/skills/rollback/SKILL.md") == 1
    none = await context(ann, quotas={"events": 0})
    assert (none["entries"], none["rendered"]) == ([], "")
    coding = await context(ann, purpose="coding")
    assert coding["stats"]["quotas"]["resources"] == 3
    assert {one["category"] for one in coding["entries"]} >= {"events", "entities", "skills"}


async def test_a_category_is_found_however_many_better_ones_there_are_of_another(place):
    ben = await place.tenant("crowd")
    await ben.fill({f"viking://resources/c{n}.md": "canary canary" for n in range(30)})
    await ben.fill({"viking://~/memories/events/late.md": "A long story in which a canary sings."})
    found = await context(ben, quotas={"resources": 2, "events": 1})
    assert "events" in {one["category"] for one in found["entries"]}


async def test_what_the_session_was_shown_lately_is_not_shown_again(ann):
    asked = {"session_id": "dedup", "dedup_turns": 2, "limit": 2, "max_tokens": 400}
    first = await context(ann, **asked)
    second = await context(ann, **asked)
    third = await context(ann, **asked)
    fourth = await context(ann, **asked)
    assert not set(uris(first)) & set(uris(second))
    assert not (set(uris(first)) | set(uris(second))) & set(uris(third))
    assert uris(fourth) == uris(first)
    assert second["stats"]["dedup"] == {"turns": 2, "status": "ok", "cooled": 2, "turn": 2}
    other = await context(ann, **asked | {"session_id": "another"})
    assert uris(other) == uris(first)
    assert (await context(ann, dedup_turns=2))["stats"]["dedup"]["status"] == "no_session"


async def test_addresses_without_a_text_may_come_again(ann):
    asked = {"session_id": "bare", "dedup_turns": 5, "detail": "uri"}
    assert uris(await context(ann, **asked)) == uris(await context(ann, **asked))


async def test_the_sessions_of_others_are_not_touched_and_a_deleted_one_is_forgotten(place):
    ann, ben = await place.account("pair", ["ann", "ben"])
    await ann.fill({"viking://resources/a.md": "The canary sings."})
    asked = {"session_id": "s", "dedup_turns": 5}
    shown = uris(await context(ann, **asked))
    assert "viking://resources/a.md" in shown
    assert uris(await context(ben, **asked)) == shown
    assert uris(await context(ann, **asked)) == []
    result_of(await ann.post("/api/v1/sessions", {"session_id": "s"}))
    gone = await ann.http.delete("/api/v1/sessions/s", headers=dict(ann.key))
    result_of(gone)
    assert uris(await context(ann, **asked)) == shown


async def test_named_addresses_are_left_out_with_all_below_and_nothing_else(ann):
    found = await context(ann, exclude_uris=["viking://resources/ops", "viking://~/memories/facts"])
    assert found["entries"]
    assert not [one for one in uris(found) if "/ops" in one or "/facts" in one]
    skill = "viking://agent/skills/rollback/SKILL.md"
    assert skill in uris(await context(ann, "notes of the canary skill", limit=20))
    assert skill not in uris(
        await context(ann, "notes of the canary skill", exclude_uris=[skill], limit=20)
    )
    kept = await context(ann, exclude_uris=["viking://resources/ops/long.md"], limit=20)
    assert "viking://resources/ops/rollback.md" in uris(kept)
    assert "viking://resources/ops/long.md" not in uris(kept)


async def test_what_other_peers_left_comes_later_or_not_at_all(ann):
    laptop = "viking://user/ann/peers/laptop/memories/events/canary.md"

    async def event(peer: str = "", **more: Any) -> dict[str, Any] | None:
        body = {"query": "canary", "mode": "context", "quotas": {"events": 9}, **more}
        headers = {**ann.key, "X-OpenViking-Actor-Peer": peer}
        answer = await ann.http.post(SEARCH, json=body, headers=headers)
        return next((one for one in result_of(answer)["entries"] if one["uri"] == laptop), None)

    own, other = await event("laptop"), await event("desktop")
    assert (own["origin"], other["origin"]) == ("actor_peer", "other_peer")
    assert other["score"] == pytest.approx(own["score"] - 0.1)
    halved = await event("desktop", other_peer_penalty={"events": 0.5})
    assert halved["score"] == pytest.approx(own["score"] - 0.5)
    assert await event("desktop", peer_scope="actor") is None
    assert (await event("laptop", peer_scope="actor"))["score"] == own["score"]
    assert (await event("a/../b"))["origin"] == "other_peer"


async def test_conditions_are_those_of_a_find(ann):
    files = await context(ann, target_uri="viking://resources/ops", level=2)
    assert set(uris(files)) <= {
        "viking://resources/ops/long.md",
        "viking://resources/ops/rollback.md",
    }
    assert len(files["entries"]) == 2
    assert (await context(ann, score_threshold=1.0))["entries"] == []
    memories = await context(ann, context_type="memory", since="1h")
    assert memories["entries"]
    assert "resources" not in {one["category"] for one in memories["entries"]}
    newest = result_of(await ann.post(SEARCH, {"mode": "context", "context_type": "memory"}))
    assert newest["entries"]
    assert newest["stats"]["planned_queries"] == []
    answer = await ann.post(
        SEARCH, {"query": "x", "mode": "context", "target_uri": "viking://resources/none"}
    )
    assert answer.headers["x-unknown-targets"] == "viking://resources/none"


async def test_the_conversation_says_what_is_meant(ann):
    said = {"role": "user", "content": "Let us talk about the editor and how to undo with it."}
    result_of(await ann.post("/api/v1/sessions/talk/messages", said))
    found = await context(ann, "how does it work?", session_id="talk")
    assert found["stats"]["query_expansion"] == "used"
    assert "viking://resources/dev/editor.md" in uris(found)
    plain = await context(ann, "how does it work?", session_id="talk", query_expansion="off")
    assert plain["stats"]["planned_queries"] == ["how does it work?"]
    assert plain["stats"]["query_expansion"] == "off"
    thanks = await context(ann, "thanks!", session_id="talk")
    assert (thanks["rendered"], thanks["stats"]["query_expansion"]) == ("", "nothing")


async def test_without_a_language_model_the_block_comes_and_says_so(ann):
    asked = await context(ann, rewrite=True)
    assert asked["stats"]["rewrite"] == "no_model"
    assert asked["stats"]["notes"] == [
        "no digest: no language model is configured (query_planner.model or vlm.model)"
    ]
    assert asked["digest"] == ""
    assert asked["rendered"] != ""
    assert (await context(ann, rewrite="auto"))["stats"]["rewrite"] == "off"


async def test_a_recall_is_a_context_of_memories(ann):
    sent = await ann.post(
        RECALL, {"query": "canary", "max_chars": 6_500, "min_score": 0.2, "session_id": "r"}
    )
    assert sent.headers["deprecation"] == "true"
    found = result_of(sent)
    stats = found["stats"]
    assert stats["quotas"] == {"events": 10, "entities": 10, "preferences": 3, "experiences": 0}
    assert (stats["max_tokens"], stats["score_threshold"]) == (1_625, 0.2)
    assert stats["dedup"]["turns"] == 5
    assert stats["deprecated"]["aliases_used"] == ["max_chars", "min_score"]
    assert {one["category"] for one in found["entries"]} == {"events", "entities", "preferences"}
    bare = result_of(await ann.post(RECALL, {"query": "canary", "render": False}))
    assert bare["rendered"] == ""
    assert bare["entries"]
    compact = result_of(await ann.post(RECALL, {"query": "canary", "render": "compact"}))
    assert {one["detail"] for one in compact["entries"]} == {"abstract"}
    more = result_of(await ann.post(RECALL, {"query": "canary", "quotas": {"experiences": 2}}))
    assert more["stats"]["quotas"]["experiences"] == 2
    assert more["stats"]["score_threshold"] == 0.1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"max_tokens": 0}, "max_tokens is 0; expected at least 1"),
        ({"max_tokens": "many"}, "max_tokens is 'many'; expected a whole number"),
        ({"quotas": {"poems": 1}}, "quotas is {'poems': 1}; expected an object of numbers"),
        ({"quotas": {"events": -1}}, "quotas is {'events': -1}; expected an object of numbers"),
        ({"quotas": [1]}, "quotas is [1]; expected an object of numbers"),
        ({"purpose": "poetry"}, "purpose is 'poetry'; expected 'coding' or 'chat'"),
        ({"detail": "most"}, "detail is 'most'; expected full, overview, abstract, uri"),
        ({"detail": {"events": 1}}, "detail is {'events': 1}; expected full, overview"),
        ({"dedup_turns": -1}, "dedup_turns is -1; expected at least 0"),
        ({"peer_scope": "none"}, "peer_scope is 'none'; expected 'all' or 'actor'"),
        ({"other_peer_penalty": 2}, "other_peer_penalty is 2; expected a number from 0 to 1"),
        ({"query_expansion": "on"}, "query_expansion is 'on'; expected 'auto' or 'off'"),
        ({"rewrite": "please"}, "rewrite is 'please'; expected true, false or 'auto'"),
        ({"rewrite_max_bullets": 21}, "rewrite_max_bullets is 21; expected at most 20"),
        ({"exclude_uris": ["docs"]}, "exclude_uris: address 'docs' must start with viking://"),
        ({"mode": "deep"}, "mode is 'deep'; expected 'list' or 'context'"),
        ({"query": ""}, "query is ''; expected a text"),
    ],
)
async def test_a_wrong_value_is_named_with_what_was_expected(ann, body, told):
    answer = await ann.post(SEARCH, {"query": "x", "mode": "context", **body})
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert error["message"].startswith(told)


async def test_fields_of_a_context_are_refused_where_hits_are_listed(ann):
    for mode in ({}, {"mode": "list"}):
        sent = await ann.post(SEARCH, {"query": "x", "dedup_turns": 5, **mode})
        message = error_of(sent, 400, "INVALID_ARGUMENT")["message"]
        assert message.startswith("dedup_turns is 5; ")
        assert "mode" in message
        assert "extra" in message


async def test_what_has_no_effect_is_named(ann):
    found = await context(ann, purpose="chat", limit=3, read_content=True)
    assert found["stats"]["ignored"] == ["read_content", "limit"]
    sent = await ann.post(SEARCH, {"query": "x", "mode": "context", "poem": 1})
    assert sent.headers["x-ignored-fields"] == "poem"


@pytest.mark.parametrize("quotas", [{}, {"quotas": {}}, {"quotas": {"events": 1}}])
async def test_a_limit_that_quotas_take_the_place_of_is_named(ann, quotas):
    recalled = result_of(await ann.post(RECALL, {"query": "x", "limit": 3, **quotas}))
    assert recalled["stats"]["ignored"] == ["limit"]
    assembled = await context(ann, purpose="chat", node_limit=3, **quotas)
    assert assembled["stats"]["ignored"] == ["node_limit"]
    assert (await context(ann, limit=3))["stats"]["ignored"] == []


async def test_r117_the_trees_of_others_are_out_of_reach(place):
    ann, ben = await place.account("apart", ["ann", "ben"])
    await ben.fill({"viking://~/memories/events/locker.md": "The locker is 42."})
    for body in ({}, {"purpose": "coding"}, {"quotas": {"events": 5}}, {"peer_scope": "all"}):
        found = await context(ann, "locker", **body)
        assert "42" not in found["rendered"]
    body = {"query": "x", "mode": "context", "target_uri": "viking://user/ben"}
    error_of(await ann.post(SEARCH, body), 403, "PERMISSION_DENIED")
    assert "42" in (await context(ben, "locker"))["rendered"]


async def test_a_language_model_makes_a_digest_and_may_say_that_nothing_fits(tmp_path):
    said: list[dict[str, Any]] = [{"bullets": []}]

    def speaker(asked: Asked) -> Turn:
        return say(
            said[0] if "bullets" in asked.messages[0][1] else {"abstract": "", "overview": ""}
        )

    with stub_chat(speaker) as stub:
        async with server(tmp_path, stub) as ann:
            asked = {
                "rewrite": "auto",
                "session_id": "s",
                "dedup_turns": 5,
                "query_expansion": "off",
            }
            nothing = await context(ann, "undo", **asked)
            assert (nothing["rendered"], nothing["digest"]) == ("", "")
            assert nothing["stats"]["rewrite"] == "no_relevant"
            best = nothing["entries"][0]["uri"]
            said[0] = {"bullets": [{"text": "Press u.", "uri": best}]}
            found = await context(ann, "undo", **asked)
            assert found["digest"] == f"- Press u. ({best})"
            assert found["stats"]["rewrite"] == "ok"
            assert found["rendered"] != ""
            assert uris(found) == uris(nothing)
            said[0] = {"points": []}
            failed = await context(ann, "undo", rewrite=True)
            assert (failed["digest"], failed["stats"]["rewrite"]) == ("", "failed")
            assert failed["rendered"] == found["rendered"]
