"""search/search planned by a language model: the real house, the real HTTP, a stub for a model."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from contextfind.config.chat import ChatSettings
from contextfind.config.model import IngestionSettings, Settings
from contextfind.config.retrieval import RetrievalSettings
from contextfind.domain.tokens import estimated_tokens
from contextfind.retrieval.intent import INPUT_TOKENS
from contextfind.server.app import create_app
from contextfind.wiring import House
from tests.api.caller import calling, result_of
from tests.api.living import HASH, Tenant
from tests.backends import storage_in
from tests.stubs.chat import (
    BROKEN,
    CUT,
    EMPTY,
    FORBIDDEN,
    HANG,
    PROSE,
    WRONG_KEYS,
    Asked,
    StubChat,
    Turn,
    say,
    stub_chat,
)

SEARCH = "/api/v1/search/search"
UNDO = "how do we undo it?"
RUNBOOK = "viking://resources/ops/atlas.md"
TREE = {
    RUNBOOK: "# Going back\n\nAtlas: put the former build into service when the canary fails.\n",
    "viking://resources/dev/editor.md": "# Editor\n\nUndo with the key u.\n",
    "viking://agent/skills/report/SKILL.md": "---\nname: report\n---\n# Report\n\nWrite a report.\n",
    "viking://~/memories/style.md": "Ann likes short reports.\n",
}
QUERY = {
    "query": "put the former build of Atlas into service",
    "context_type": "resource",
    "intent": "the steps",
    "priority": 1,
}
PLAN = {"reasoning": "The release of Atlas shall be taken back.", "queries": [QUERY]}
LIMITED = Settings(
    ingestion=IngestionSettings(model_summaries=False),
    retrieval=RetrievalSettings(plan_seconds=5),
    embedding=HASH,
)


def plans(stub: StubChat) -> list[Asked]:
    """Return the requests to plan a search."""
    return [asked for asked in stub.requests if "queries" in asked.messages[0][1]]


def planner(asked: Asked) -> Turn:
    """Plan searches; give any other request a summary about Atlas."""
    if "queries" in asked.messages[0][1]:
        return say(PLAN)
    return say({"abstract": "About Atlas.", "overview": "Atlas was released on Tuesday."})


@pytest.fixture
def stub() -> Iterator[StubChat]:
    with stub_chat(planner) as stub:
        yield stub


@asynccontextmanager
async def server(
    data: Path,
    stub: StubChat | None = None,
    planning: StubChat | ChatSettings | None = None,
    **retrieval: Any,
) -> AsyncIterator[Tenant]:
    """Serve the tree; stub: the general model, planning: the one that plans."""
    changed: dict[str, object] = {"storage": storage_in(data)}
    if stub is not None:
        changed["vlm"] = ChatSettings(model="general", api_base=stub.base_url, timeout=5)
    if isinstance(planning, StubChat):
        planning = ChatSettings(model="planner", api_base=planning.base_url, timeout=5)
    if planning is not None:
        changed["query_planner"] = planning
    if retrieval:
        changed["retrieval"] = RetrievalSettings(**retrieval)
    settings = LIMITED.model_copy(update=changed)
    async with calling(create_app(lambda: House.open(settings))) as http:
        tenant = Tenant(http)
        await tenant.fill(TREE)
        yield tenant


async def search(tenant: Tenant, query: str = UNDO, **body: Any) -> Any:
    return result_of(await tenant.post(SEARCH, {"query": query, **body}))


async def tell(tenant: Tenant, *texts: str, session: str = "s") -> None:
    said = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": text}
        for at, text in enumerate(texts)
    ]
    for at in range(0, len(said), 100):
        path = f"/api/v1/sessions/{session}/messages/batch"
        result_of(await tenant.post(path, {"messages": said[at : at + 100]}))


async def archive(tenant: Tenant, session: str = "s") -> None:
    path = f"/api/v1/sessions/{session}/commit"
    task = result_of(await tenant.post(path, {}))["task_id"]
    while True:
        if result_of(await tenant.get(f"tasks/{task}"))["status"] not in ("pending", "running"):
            return
        await asyncio.sleep(0.02)


def best(result: Any) -> str:
    hits = [hit for shelf in ("memories", "resources", "skills") for hit in result[shelf]]
    files = [hit for hit in hits if hit["level"] == 2]
    return str(max(files, key=lambda hit: hit["score"])["uri"])


def asked(result: Any) -> list[str]:
    return [typed["query"] for typed in result["query_plan"]["queries"]]


async def test_R029_the_prompt_holds_the_summary_the_last_five_messages_and_the_query(  # noqa: N802 - a case
    tmp_path: Path, stub: StubChat
) -> None:
    async with server(tmp_path, stub) as ann:
        await tell(ann, "We released Atlas.", "On Tuesday.")
        await archive(ann)
        await tell(ann, *(f"message {n}." for n in range(7)))
        result = await search(ann, session_id="s")
    (sent,) = plans(stub)
    told = sent.messages[1][1]
    assert "Atlas was released on Tuesday." in told
    assert re.findall(r"message (\d)\.", told) == ["2", "3", "4", "5", "6"]
    assert UNDO in told
    assert sent.form == "json_schema"
    assert best(result) == RUNBOOK
    assert asked(result) == [QUERY["query"], UNDO]
    assert result["query_plan"]["reasoning"] == PLAN["reasoning"]
    assert result["query_plan"]["queries"][0] == QUERY


async def test_the_planned_queries_are_searched_and_told(tmp_path: Path, stub: StubChat) -> None:
    async with server(tmp_path, stub) as ann:
        await tell(ann, "Atlas fails.")
        raw = result_of(await ann.find(query=UNDO))
        result = await search(ann, session_id="s", include_provenance=True, telemetry=True)
    assert best(raw) == "viking://resources/dev/editor.md"
    told = result["provenance"]
    assert [one["query"] for one in told] == [QUERY["query"], UNDO]
    assert all(one["searched_directories"] for one in told)
    assert all(one["thinking_trace"]["events"][-1]["event"] == "end" for one in told)
    assert {hit["context_type"] for hit in told[0]["matched_contexts"]} == {"resource"}
    (shown,) = [hit for hit in result["resources"] if hit["uri"] == RUNBOOK]
    assert shown["match_reason"].endswith(f"asked as '{QUERY['query']}'")


async def test_a_query_without_a_session_is_planned_too(tmp_path: Path, stub: StubChat) -> None:
    async with server(tmp_path, stub) as ann:
        result = await search(ann)
        unknown = await search(ann, session_id="unknown")
    assert asked(result) == [UNDO, QUERY["query"]] == asked(unknown)
    assert len(plans(stub)) == 2


async def test_an_empty_plan_is_an_empty_answer_with_its_reason(
    tmp_path: Path, stub: StubChat
) -> None:
    stub.always = say({"reasoning": "Thanks need nothing.", "queries": []})
    async with server(tmp_path, stub) as ann:
        result = await search(ann, "Atlas is fine now, thanks", include_provenance=True)
    assert result["total"] == 0
    assert (result["memories"], result["resources"], result["skills"]) == ([], [], [])
    assert result["query_plan"] == {"reasoning": "Thanks need nothing.", "queries": []}
    assert result["provenance"] == []


async def test_R031_the_general_model_plans_where_there_is_no_other(  # noqa: N802 - a case
    tmp_path: Path, stub: StubChat
) -> None:
    async with server(tmp_path, stub) as ann:
        await tell(ann, "Atlas fails.")
        assert asked(await search(ann, session_id="s")) == [QUERY["query"], UNDO]
    assert [sent.body["model"] for sent in stub.requests] == ["general"]


async def test_R031_the_planner_alone_plans_where_there_is_one(  # noqa: N802 - a case
    tmp_path: Path, stub: StubChat
) -> None:
    with stub_chat(planner) as other:
        async with server(tmp_path, stub, other) as ann:
            await tell(ann, "Atlas fails.")
            assert asked(await search(ann, session_id="s")) == [QUERY["query"], UNDO]
        assert [sent.body["model"] for sent in other.requests] == ["planner"]
    assert stub.calls == 0


async def test_R031_an_empty_planner_section_leaves_it_to_the_general_model(  # noqa: N802 - a case
    tmp_path: Path, stub: StubChat
) -> None:
    async with server(tmp_path, stub, ChatSettings()) as ann:
        assert asked(await search(ann)) == [UNDO, QUERY["query"]]
    assert [sent.body["model"] for sent in stub.requests] == ["general"]


async def test_a_planner_without_an_address_is_asked_where_the_general_model_is(
    tmp_path: Path, stub: StubChat
) -> None:
    async with server(tmp_path, stub, ChatSettings(model="small")) as ann:
        assert asked(await search(ann)) == [UNDO, QUERY["query"]]
    assert [sent.body["model"] for sent in stub.requests] == ["small"]


NULL = Turn("null")
FENCED = Turn(f"Here you are:\n```json\n{json.dumps(PLAN)}\n```\n")


async def test_R132_whatever_the_model_says_the_original_query_is_searched(  # noqa: N802 - a case
    tmp_path: Path, stub: StubChat
) -> None:
    async with server(tmp_path, stub) as ann:
        await tell(ann, "Atlas fails.")
        plain = result_of(await ann.find(query=UNDO))
        for turn in (PROSE, CUT, EMPTY, NULL, WRONG_KEYS, FORBIDDEN):
            stub.turns.append(turn)
            answer = await ann.post(SEARCH, {"query": UNDO, "session_id": "s"})
            result = result_of(answer)
            why = result.pop("query_plan")
            assert result == plain
            assert [typed["query"] for typed in why["queries"]] == [UNDO]
            assert why["reasoning"].startswith("The query is searched as it was asked, because")
            assert answer.headers["x-notes"].startswith("not%20planned:")
        stub.turns.append(FENCED)
        assert asked(await search(ann, session_id="s")) == [QUERY["query"], UNDO]


async def test_R168_a_model_that_always_fails_is_asked_three_times_at_most(  # noqa: N802 - a case
    tmp_path: Path, stub: StubChat
) -> None:
    stub.always = BROKEN
    async with server(tmp_path, stub) as ann:
        await tell(ann, "Atlas fails.")
        result = await search(ann, session_id="s")
    assert asked(result) == [UNDO]
    assert "500" in result["query_plan"]["reasoning"]
    assert result["total"] > 0
    assert 1 <= stub.calls <= 3


async def test_a_model_that_hangs_holds_up_nothing_else(tmp_path: Path, stub: StubChat) -> None:
    stub.always = HANG
    async with server(tmp_path, stub, plan_seconds=1.0) as ann:
        searching = asyncio.create_task(search(ann))
        await asyncio.to_thread(stub.asked.wait)
        assert (await ann.http.get("/health")).json()["healthy"] is True
        assert (await ann.find(query=UNDO)).status_code == 200
        assert not searching.done()
        result = await searching
    assert asked(result) == [UNDO]
    # "no answer within 0.95 s", or, of a busy machine, "did not answer within 1 s"
    assert "answer within" in result["query_plan"]["reasoning"]


async def test_a_model_that_hangs_on_is_not_waited_for_any_more(
    tmp_path: Path, stub: StubChat
) -> None:
    stub.always = HANG
    async with server(tmp_path, stub, plan_seconds=0.4) as ann:
        told = [(await search(ann))["query_plan"]["reasoning"] for _ in range(12)]
        asked_of = len(plans(stub))
        result = await search(ann)
    assert "no answer within 0.38 s" in told[0]
    assert "is down" in told[-1]
    assert asked_of < len(told)
    assert asked(result) == [UNDO]


async def test_a_client_who_leaves_takes_its_search_with_it(tmp_path: Path, stub: StubChat) -> None:
    stub.always = HANG
    async with server(tmp_path, stub, plan_seconds=60) as ann:
        searching = asyncio.create_task(search(ann))
        await asyncio.to_thread(stub.asked.wait)
        searching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searching
        assert _searching() == []
        stub.always = planner
        assert asked(await search(ann)) == [UNDO, QUERY["query"]]


def _searching() -> Sequence[str]:
    stacks = [str(task.get_stack()) for task in asyncio.all_tasks()]
    return [stack for stack in stacks if "searcher" in stack or "intent" in stack]


async def test_R139_a_long_session_makes_no_long_prompt(tmp_path: Path, stub: StubChat) -> None:  # noqa: N802 - a case
    words = " ".join(f"word{n}" for n in range(100))
    async with server(tmp_path, stub) as ann:
        await tell(ann, *(f"message-{n}. {words}" for n in range(2_000)))
        await search(ann, session_id="s")
    (sent,) = plans(stub)
    assert estimated_tokens(sent.prompt) <= INPUT_TOKENS
    assert re.findall(r"message-(\d+)\.", sent.prompt) == [str(n) for n in range(1_995, 2_000)]


async def test_R032_ten_searches_in_one_session_answer_side_by_side(  # noqa: N802 - a case
    tmp_path: Path, stub: StubChat
) -> None:
    async with server(tmp_path, stub) as ann:
        await tell(ann, "Atlas fails.")
        results = await asyncio.gather(*(search(ann, session_id="s") for _ in range(10)))
    assert all(result == results[0] for result in results)
    assert best(results[0]) == RUNBOOK


async def test_the_callers_kind_and_target_limit_every_planned_query(
    tmp_path: Path, stub: StubChat
) -> None:
    """Case R130."""
    kinds = ("memory", "resource", "skill")
    wide = [{**QUERY, "query": "report", "context_type": kind} for kind in kinds]
    stub.always = say({"reasoning": "all", "queries": wide})
    async with server(tmp_path, stub) as ann:
        for kind, shelf in zip(kinds, ("memories", "resources", "skills"), strict=True):
            result = await search(ann, "write it", context_type=kind)
            assert result["total"] == len(result[shelf]) > 0
        below = await search(ann, "write it", target_uri="viking://agent/skills")
        assert below["total"] == len(below["skills"]) > 0
        (sent,) = plans(stub)[-1:]
    assert "viking://agent/skills" in sent.messages[1][1]


async def test_without_a_model_the_session_resolves_what_points_back(tmp_path: Path) -> None:
    async with server(tmp_path) as ann:
        await tell(ann, "The canary of Atlas fails.", "Shall I page somebody?", "The former build.")
        result = await search(ann, session_id="s")
        thanks = await search(ann, "thanks!", session_id="s")
        alone = await search(ann, "thanks!")
    assert best(result) == RUNBOOK
    assert asked(result)[-1] == UNDO
    assert "points back to the conversation" in result["query_plan"]["reasoning"]
    assert (thanks["total"], thanks["query_plan"]["queries"]) == (0, [])
    assert asked(alone) == ["thanks!"]


async def test_R014_a_search_gives_the_same_bytes_after_a_restart(  # noqa: N802 - a case
    tmp_path: Path, stub: StubChat
) -> None:
    answers = set()
    for _ in range(2):
        async with server(tmp_path, stub) as ann:
            await tell(ann, "Atlas fails.")
            for _ in range(3):
                sent = await ann.post(SEARCH, {"query": UNDO, "session_id": "s"})
                answers.add(json.dumps(result_of(sent)))
    assert len(answers) == 1
