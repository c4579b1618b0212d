"""Our LlamaIndex retriever with the real LlamaIndex."""

import asyncio
from typing import Any

import pytest

from tests.clients.conftest import Served

engines = pytest.importorskip("llama_index.core.query_engine", reason="make test-clients")
models = pytest.importorskip("llama_index.core.llms", reason="make test-clients")
ours = pytest.importorskip("contextfind.integrations.llamaindex", reason="make test-clients")


@pytest.fixture(scope="module", autouse=True)
def tree(served: Served) -> None:
    for name in ("harbour", "mountain"):
        body = {
            "uri": f"viking://resources/places/{name}.md",
            "content": f"# {name}\n\nThe lighthouse stands at the {name}.\n",
            "tags": [f"place={name}"],
            "wait": True,
        }
        headers = {"X-API-Key": served.key}
        served.process.call("POST", "/api/v1/content/write", json=body, headers=headers)


def retriever(served: Served, **said: Any) -> Any:
    return ours.ContextfindRetriever(
        served.url, served.key, target_uri="viking://resources/places", **said
    )


def test_a_node_has_text_address_and_score(served: Served) -> None:
    best = retriever(served, similarity_top_k=1).retrieve("lighthouse at the harbour")[0]
    assert best.node.node_id == best.metadata["source"] == "viking://resources/places/harbour.md"
    assert "stands at the harbour" in best.text
    assert best.score is not None
    assert 0 < best.score <= 1


def test_both_ways_of_asking_give_the_same(served: Served) -> None:
    asked = retriever(served)
    first = asyncio.run(asked.aretrieve("lighthouse"))
    assert [(one.node_id, one.score) for one in first] == [
        (one.node_id, one.score) for one in asked.retrieve("lighthouse")
    ]
    assert len(first) == 2


@pytest.mark.parametrize(
    "said",
    [
        {"tags": ["place=mountain"]},
        {"filter": {"op": "must", "field": "name", "conds": ["mountain.md"]}},
    ],
    ids=lambda said: next(iter(said)),
)
def test_what_is_said_narrows(served: Served, said: dict[str, Any]) -> None:
    found = retriever(served, **said).retrieve("lighthouse")
    assert [one.node_id for one in found] == ["viking://resources/places/mountain.md"]


def test_a_query_engine_answers_from_it(served: Served) -> None:
    engine = engines.RetrieverQueryEngine.from_args(retriever(served), llm=models.MockLLM())
    answer = engine.query("Where is the lighthouse?")
    assert "stands at the harbour" in str(answer)  # this model says what it was told
    assert {one.node_id.rsplit("/")[-1] for one in answer.source_nodes} == {
        "harbour.md",
        "mountain.md",
    }
