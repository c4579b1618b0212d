"""Our LangChain retriever with the real LangChain, held to its own test kit."""

import asyncio
from typing import Any

import pytest

from tests.clients.conftest import Served

kit = pytest.importorskip("langchain_tests.integration_tests", reason="make test-clients")
ours = pytest.importorskip("contextfind.integrations.langchain", reason="make test-clients")
client = pytest.importorskip("contextfind.client")

NOTES = {
    "rollback": ("To roll back a release, run kubectl rollout undo.", ["team=ops"]),
    "install": ("To install the release, run make install.", ["team=ops"]),
    "cooking": ("Release the pasta into boiling water.", ["team=kitchen"]),
}


@pytest.fixture(scope="module", autouse=True)
def tree(served: Served) -> None:
    for name, (text, tags) in NOTES.items():
        body = {"uri": f"viking://resources/notes/{name}.md", "content": f"# {name}\n\n{text}\n"}
        served.process.call(
            "POST",
            "/api/v1/content/write",
            json={**body, "tags": tags, "wait": True},
            headers={"X-API-Key": served.key},
        )


class TestTheKitOfLangChain(kit.RetrieversIntegrationTests):  # type: ignore[misc,name-defined]
    @pytest.fixture(autouse=True)
    def _server(self, served: Served) -> None:
        self._served = served

    @property
    def retriever_constructor(self) -> Any:
        return ours.ContextfindRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"url": self._served.url, "api_key": self._served.key}

    @property
    def retriever_query_example(self) -> str:
        return "how do I roll back a release?"


def retriever(served: Served, **said: Any) -> Any:
    return ours.ContextfindRetriever(url=served.url, api_key=served.key, **said)


def test_a_document_has_text_address_and_score(served: Served) -> None:
    best = retriever(served, k=1).invoke("roll back a release")[0]
    assert best.id == best.metadata["source"] == "viking://resources/notes/rollback.md"
    assert "kubectl rollout undo" in best.page_content
    assert 0 < best.metadata["score"] <= 1
    assert best.metadata["tags"] == ["team=ops"]


def test_both_ways_of_asking_give_the_same(served: Served) -> None:
    asked = retriever(served)
    assert asyncio.run(asked.ainvoke("release")) == asked.invoke("release")
    assert asyncio.run(asked.ainvoke("release")) == asked.invoke("release")  # another event loop


@pytest.mark.parametrize(
    "said",
    [
        {"search_tags": ["team=kitchen"]},
        {"filter": {"op": "must", "field": "name", "conds": ["cooking.md"]}},
        {"target_uri": "viking://resources/notes/cooking.md"},
    ],
    ids=lambda said: next(iter(said)),
)
def test_what_is_said_narrows(served: Served, said: dict[str, Any]) -> None:
    everywhere = retriever(served)
    assert len(everywhere.invoke("release")) == len(NOTES)
    narrowed = [retriever(served, **said).invoke("release"), everywhere.invoke("release", **said)]
    for found in narrowed:
        assert [one.metadata["source"].rsplit("/")[-1] for one in found] == ["cooking.md"]


def test_a_threshold_cuts(served: Served) -> None:
    assert retriever(served, score_threshold=1.0).invoke("boiling release") == []


def test_abstracts_in_place_of_files(served: Served) -> None:
    short = retriever(served, content="abstract", k=1).invoke("roll back a release")[0]
    assert short.page_content == short.metadata["abstract"]


def test_a_conversation_and_a_connection_of_ones_own(served: Served) -> None:
    with client.Client(served.url, served.key) as own:
        asked = retriever(served, client=own, session_id="talk", k=1)
        assert asked.invoke("roll back")[0].metadata["uri"].endswith("rollback.md")


def test_what_cannot_be_said_is_refused(served: Served) -> None:
    with pytest.raises(TypeError, match="limit"):
        retriever(served).invoke("release", limit=3)
    with pytest.raises(client.InvalidArgumentError):
        retriever(served, filter={"op": "nonsense"}).invoke("release")


def test_the_key_is_not_shown(served: Served) -> None:
    assert served.key not in repr(retriever(served))
