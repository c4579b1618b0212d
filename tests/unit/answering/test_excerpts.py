from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfind.answering.excerpts import GAP, beginning, excerpt
from contextfind.domain.documents import make_passage
from contextfind.domain.records import Passage
from contextfind.domain.tokens import estimated_tokens
from tests.fakes import SimpleTokenizer

TERMS = SimpleTokenizer().terms


def passages(*texts: str, heading: str = "") -> list[Passage]:
    return [make_passage(at, heading, text, "") for at, text in enumerate(texts)]


def quoted(texts: Sequence[Passage], question: str, room: int, best: int | None = None) -> str:
    return excerpt(texts, best, TERMS(question), TERMS, room)


def test_passages_with_the_words_are_quoted_in_reading_order() -> None:
    file = passages("kettle one", "nothing here", "kettle and heron", "nor here", "heron two")
    said = quoted(file, "heron kettle", 12)
    assert said == f"{GAP}\n\nkettle and heron\n\n{GAP}"
    assert quoted(file, "heron kettle", 24) == (
        f"kettle one\n\n{GAP}\n\nkettle and heron\n\n{GAP}\n\nheron two"
    )


def test_the_best_passage_comes_in_whatever_its_words_are() -> None:
    file = passages("kettle kettle", "so", "une bouilloire", "other")
    assert "une bouilloire" in quoted(file, "kettle", 12, best=2)


def test_a_rare_word_is_worth_more_than_a_common_one() -> None:
    file = passages(*["the kettle is on"] * 5, "the heron is off", "the kettle is on")
    assert quoted(file, "kettle heron", 12) == f"{GAP}\n\nthe heron is off\n\n{GAP}"


def test_room_that_is_left_goes_to_the_neighbours_first_to_what_follows() -> None:
    file = passages("first", "second", "third heron", "fourth", "fifth")
    assert quoted(file, "heron", 16) == f"{GAP}\n\nthird heron\n\nfourth\n\n{GAP}"


def test_headings_stand_above_passages_once() -> None:
    file = passages("one heron", "two heron", heading="Birds > Water")
    assert quoted(file, "heron", 100) == "Birds > Water\none heron\n\ntwo heron"


def test_a_best_passage_that_is_too_long_is_begun() -> None:
    file = passages("short", "heron " * 100)
    said = quoted(file, "heron", 20)
    assert said.startswith("heron heron")
    assert said.endswith(GAP)
    assert estimated_tokens(said) <= 20


def test_a_file_without_passages_says_nothing() -> None:
    assert quoted([], "heron", 20) == ""


@given(
    st.lists(st.text("ab 中heron", min_size=1, max_size=60), min_size=1, max_size=12),
    st.integers(8, 60),
)
def test_an_excerpt_never_costs_more_than_its_room(texts: list[str], room: int) -> None:
    assert estimated_tokens(quoted(passages(*texts), "heron", room)) <= room


@pytest.mark.parametrize("text", ["a" * 100, "中" * 100, ""])
def test_a_beginning_fits_and_says_that_it_is_one(text: str) -> None:
    assert beginning(text, 1_000) == text
    cut = beginning(text, 10)
    assert estimated_tokens(cut) <= 10
    assert cut.endswith(GAP) == bool(text)
