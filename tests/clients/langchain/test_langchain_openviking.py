"""langchain-openviking 0.1.0 with openviking-sdk 0.1.7 against a real server."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import Served

package = pytest.importorskip("langchain_openviking", reason="make test-clients")
messages = pytest.importorskip("langchain_core.messages")
runnables = pytest.importorskip("langchain_core.runnables")

NOTE = "viking://resources/notes/rollback.md"


@pytest.fixture(scope="module")
def place(served: Served) -> dict[str, str]:
    body = {"uri": NOTE, "content": "# Rollback\n\nTo roll back, run kubectl rollout undo.\n"}
    served.process.call(
        "POST",
        "/api/v1/content/write",
        json={**body, "tags": ["team=ops"], "wait": True},
        headers={"X-API-Key": served.key},
    )
    return {"url": served.url, "api_key": served.key}


@pytest.fixture(scope="module")
def tools(place: dict[str, str]) -> dict[str, Any]:
    made = package.create_openviking_tools(**place, profile="agent", allow_forget=True)
    return {tool.name: tool for tool in made}


def sources(documents: Any) -> list[str]:
    return [document.metadata["source"] for document in documents]


def test_the_retriever_finds_and_searches(place: dict[str, str]) -> None:
    said = {"target_uri": "viking://resources/notes", "limit": 5}
    finding = package.OpenVikingRetriever(**place, **said)
    searching = package.OpenVikingRetriever(**place, **said, search_mode="search", session_id="s")
    found = finding.invoke("roll back")
    assert NOTE in sources(found)
    assert any("kubectl" in document.page_content for document in found)
    assert sources(asyncio.run(finding.ainvoke("roll back"))) == sources(found)
    assert NOTE in sources(searching.invoke("roll back"))


def test_its_filter_and_threshold_hold(place: dict[str, str]) -> None:
    files = {"op": "must", "field": "level", "conds": [2]}
    narrowed = package.OpenVikingRetriever(**place, filter=files, target_uri="viking://resources")
    assert sources(narrowed.invoke("roll back")) == [NOTE]
    none = package.OpenVikingRetriever(**place, score_threshold=1.0)
    assert none.invoke("nothing like it") == []


def test_a_history_is_kept_and_cleared(place: dict[str, str]) -> None:
    history = package.OpenVikingChatMessageHistory("history", **place)
    history.add_messages([messages.HumanMessage("hi"), messages.AIMessage("hello")])
    assert [one.content for one in history.messages] == ["hi", "hello"]
    history.clear()
    assert history.messages == []


def test_a_recorder_commits_and_the_context_has_overview_and_recall(place: dict[str, str]) -> None:
    policy = package.OpenVikingCommitPolicy(mode="always")
    recorder = package.OpenVikingSessionRecorder(**place, commit_policy=policy)
    part = {"type": "context", "uri": NOTE, "context_type": "resource", "abstract": "a"}
    said = [messages.HumanMessage("we deploy with kubectl"), messages.AIMessage("noted")]
    done = recorder.record("recorded", said, context_parts=[part])
    assert (done.messages_written, done.context_attached) == (2, True)
    assembler = package.OpenVikingSessionContextAssembler(**place)
    block = assembler.assemble(session_id="recorded", query="roll back").block
    assert NOTE in block


def test_a_runnable_remembers(place: dict[str, str]) -> None:
    heard: list[int] = []

    def answer(given: Any) -> Any:
        heard.append(len(given))
        return messages.AIMessage("answered")

    with package.with_openviking_context(
        runnables.RunnableLambda(answer), session_id="run", inject_context=False, **place
    ) as chain:
        for _ in range(2):
            chain.invoke([messages.HumanMessage("how do I roll back?")])
    assert heard == [1, 3]


def test_the_store_of_langgraph(place: dict[str, str]) -> None:
    store = package.OpenVikingStore(**place)  # below viking://user/memories, without a name
    store.put(("people", "ann"), "food", {"text": "likes zebra cake"})
    store.put(("people", "ben"), "food", {"text": "likes soup"})
    assert store.get(("people", "ann"), "food").value == {"text": "likes zebra cake"}
    assert store.search(("people",), query="zebra cake")[0].namespace == ("people", "ann")
    assert len(store.search(("people",))) == 2
    assert sorted(store.list_namespaces(prefix=("people",))) == [
        ("people", "ann"),
        ("people", "ben"),
    ]
    store.delete(("people", "ann"), "food")
    assert store.get(("people", "ann"), "food") is None
    assert len(store.search(("people",))) == 1


def test_tools_that_find_and_read(tools: dict[str, Any]) -> None:
    where = {"target_uri": "viking://resources/notes"}
    for name in ("viking_find", "viking_search"):
        assert NOTE in tools[name].invoke({"query": "roll back", **where})
    assert NOTE in tools["viking_browse"].invoke({"uri": "viking://resources/notes"})
    assert NOTE in tools["viking_browse"].invoke(
        {"uri": "viking://resources", "pattern": "**/*.md"}
    )
    assert "kubectl" in tools["viking_read"].invoke({"uris": [NOTE]})
    found = tools["viking_grep"].invoke({"uri": "viking://resources/notes", "pattern": "KUBECTL"})
    assert json.loads(found)["count"] == 0
    assert "7" in tools["viking_health"].invoke({})  # the components of the server


def test_tools_that_write(tools: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "added.md").write_text("# Added\n\nquokka\n")
    added = {"path": str(tmp_path / "added.md"), "to": "viking://resources/notes/added.md"}
    assert "added.md" in tools["viking_add_resource"].invoke({**added, "wait": True, "timeout": 30})
    assert "quokka" in tools["viking_read"].invoke({"uris": [added["to"]]})
    tools["viking_forget"].invoke({"uri": added["to"]})
    assert added["to"] not in tools["viking_find"].invoke({"query": "quokka"})
    skill = "---\nname: csv\ndescription: Make a CSV\n---\n# csv\n"
    assert "csv" in tools["viking_add_skill"].invoke({"data": skill, "wait": True})


def test_tools_of_conversations(tools: dict[str, Any]) -> None:
    said = [{"role": "user", "content": "the gate code is wombat"}]
    tools["viking_store"].invoke({"messages": said, "session_id": "stored", "commit": True})
    asked = {"session_id": "stored", "query": "wombat"}
    assert "wombat" in tools["viking_archive_search"].invoke(asked)
    expanded = {"session_id": "stored", "archive_id": "archive_001"}
    assert "wombat" in tools["viking_archive_expand"].invoke(expanded)
