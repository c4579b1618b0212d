import numpy as np
import pytest

from contextfind.domain.errors import UnavailableError
from contextfind.retrieval import recent
from contextfind.retrieval.recent import RecentVectors
from tests.fakes import FakeEmbedder


async def test_a_question_asked_again_costs_no_call_and_has_the_same_vector() -> None:
    embedder = FakeEmbedder()
    vectors = RecentVectors(embedder)
    first = await vectors.of(["one", "two", "one"])
    assert embedder.calls == [("query", ("one", "two"))]
    again = await vectors.of(["two", "three", "one"])
    assert embedder.calls[1:] == [("query", ("three",))]
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal([again[2], again[0]], first[:2])
    np.testing.assert_array_equal(again, await embedder.embed(["two", "three", "one"], "query"))


async def test_the_question_unused_for_longest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recent, "_KEPT", 2)
    embedder = FakeEmbedder()
    vectors = RecentVectors(embedder)
    for text in ("one", "two", "one", "three", "one"):
        await vectors.of([text])
    assert [texts for _, texts in embedder.calls] == [("one",), ("two",), ("three",)]
    await vectors.of(["two"])
    assert embedder.calls[-1] == ("query", ("two",))


async def test_long_questions_are_not_kept_and_a_dead_embedder_answers_what_is_known() -> None:
    embedder = FakeEmbedder()
    vectors = RecentVectors(embedder)
    long = "word " * 1_000
    (known,) = await vectors.of(["one"])
    await vectors.of([long])
    await vectors.of([long])
    assert len(embedder.calls) == 3
    embedder.down = UnavailableError("down")
    np.testing.assert_array_equal(await vectors.of(["one"]), [known])
    with pytest.raises(UnavailableError):
        await vectors.of(["two", "one"])
