"""search with a reranker behind real HTTP: its order where it works, right answers where it does not."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.living import packed
from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.stubs.embedder import Fault
from tests.stubs.reranker import StubReranker, stub_reranker

SEARCH = "/api/v1/search/search"
NAMES = ("amber", "birch", "cedar", "delta", "ember", "fjord")
FILES = {f"{name}/{name}.md": f"# Rollback {name}\n\nHow to roll back {name}.\n" for name in NAMES}
QUERY = "how to roll back"


@pytest.fixture(scope="module")
def stub() -> Iterator[StubReranker]:
    with stub_reranker() as server:
        yield server


@pytest.fixture(scope="module")
def server(stub: StubReranker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    place: Path = tmp_path_factory.mktemp("rerank")
    rerank = {"provider": "cohere", "model": "stub", "api_base": stub.base_url, "timeout": 0.5}
    conf = {"rerank": rerank, "retrieval": {"rerank_seconds": 2}}
    (place / "ov.conf").write_text(json.dumps(conf))
    with ForkedServer(place / "data", "--config", str(place / "ov.conf")).start() as process:
        process.wait_healthy()
        sent = {"file": ("docs.zip", packed(FILES), "application/zip")}
        upload = process.call("POST", "/api/v1/resources/temp_upload", files=sent)
        to = "viking://resources/docs"
        body = {"temp_file_id": upload["temp_file_id"], "to": to, "wait": True}
        process.call("POST", "/api/v1/resources", json=body)
        process.call("POST", "/api/v1/system/wait", json={"timeout": 30})
        yield process


def search(server: ServerProcess, **fields: object) -> tuple[list[dict[str, Any]], str]:
    body = {"query": QUERY, "level": 2, **fields}
    answer = server.http.post(SEARCH, json=body)
    assert answer.status_code == 200, answer.text
    assert "NaN" not in answer.text
    assert "Infinity" not in answer.text
    return answer.json()["result"]["resources"], answer.headers.get("x-notes", "")


def names(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["uri"].rpartition("/")[2].removesuffix(".md") for hit in hits]


@pytest.fixture(autouse=True)
def sound(stub: StubReranker) -> None:
    stub.faults.clear()
    stub.always, stub.logits, stub.shuffled, stub.scores = None, False, False, {}
    stub.requests.clear()


def test_R004_a_perfect_judge_is_followed_and_find_never_asks_it(  # noqa: N802 - a case
    stub: StubReranker, server: ServerProcess
) -> None:
    wanted = ["fjord", "amber", "ember", "birch", "delta", "cedar"]
    stub.prefer(*wanted)
    found = [hit["uri"] for hit in server.find(QUERY, level=2)]
    assert stub.requests == []
    hits, notes = search(server)
    assert names(hits) == wanted
    assert sorted(found) == sorted(hit["uri"] for hit in hits)
    assert notes == ""
    assert stub.requests


def test_R006_scores_go_by_index_and_a_missing_text_keeps_its_blended_score(  # noqa: N802
    stub: StubReranker, server: ServerProcess
) -> None:
    wanted = ["fjord", "amber", "ember", "birch", "delta"]
    stub.prefer(*wanted)
    stub.scores["cedar"] = None
    stub.shuffled = True
    blended = {hit["uri"]: hit["score"] for hit in server.find(QUERY, level=2)}
    hits, notes = search(server)
    assert [name for name in names(hits) if name != "cedar"] == wanted
    (missing,) = [hit for hit in hits if hit["uri"].endswith("cedar.md")]
    assert missing["score"] == blended[missing["uri"]]
    assert "not%20reranked" in notes


def test_R049_the_threshold_is_inclusive_on_the_score_that_is_shown(  # noqa: N802
    stub: StubReranker, server: ServerProcess
) -> None:
    stub.prefer(*NAMES)
    hits, _ = search(server)
    again, _ = search(server, score_threshold=hits[2]["score"])
    assert names(again) == names(hits)[:3]


def test_R009_negative_logits_become_scores_between_0_and_1_in_the_same_order(  # noqa: N802
    stub: StubReranker, server: ServerProcess
) -> None:
    stub.prefer(*NAMES)
    stub.logits = True
    hits, notes = search(server)
    assert notes == ""
    assert all(0 <= hit["score"] <= 1 for hit in hits)
    assert names(hits) == list(NAMES)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda stub: setattr(stub, "always", Fault(status=400)),
        lambda stub: setattr(stub, "always", Fault(status=500)),
        lambda stub: setattr(stub, "always", Fault(raw=b"<html>")),
        lambda stub: setattr(stub, "always", Fault(delay=3)),
    ],
    ids=["400", "500", "no JSON", "hangs"],
)
def test_with_a_broken_judge_the_answer_is_that_of_find_and_says_so(
    stub: StubReranker, server: ServerProcess, break_it: Callable[[StubReranker], None]
) -> None:
    found = [(hit["uri"], hit["score"]) for hit in server.find(QUERY, level=2)]
    break_it(stub)
    hits, notes = search(server)
    assert [(hit["uri"], hit["score"]) for hit in hits] == found
    assert notes.startswith("not%20reranked")
