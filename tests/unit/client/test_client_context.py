import pytest

from contextfind.client.assembling import ContextEntry
from contextfind.client.failure import UnavailableError
from tests.unit.cli.stub_server import StubServer
from tests.unit.client.conftest import Connect

SEARCH = ("POST", "/api/v1/search/search")
ENTRY = {"uri": "viking://resources/a.md", "category": "resources", "score": 1, "detail": "uri"}
BLOCK = {"entries": [ENTRY], "rendered": "<memory/>", "digest": "", "stats": {"notes": ["none"]}}


async def test_a_context_is_a_search_in_another_mode(stub: StubServer, connect: Connect) -> None:
    stub.results(*SEARCH, BLOCK, {**BLOCK, "digest": "- a"})
    found = await connect().context("q", "s", max_tokens=80, quotas={"events": 1}, rewrite="auto")
    assert found.entries == (
        ContextEntry(uri=ENTRY["uri"], category="resources", score=1.0, detail="uri"),
    )
    assert (found.text, found.notes) == ("<memory/>", ("none",))
    assert stub.last.json == {
        "query": "q",
        "mode": "context",
        "max_tokens": 80,
        "session_id": "s",
        "quotas": {"events": 1},
        "rewrite": "auto",
    }
    assert (await connect().context("q")).text == "- a"


async def test_what_was_shown_counts_as_shown_so_it_is_not_sent_twice(
    stub: StubServer, connect: Connect
) -> None:
    for options, times in (({}, 3), ({"dedup_turns": 2}, 1)):
        stub.asked.clear()
        stub.fails(*SEARCH, 503, "UNAVAILABLE", "busy")
        with pytest.raises(UnavailableError):
            await connect().context("q", "s", **options)
        assert len(stub.asked) == times
