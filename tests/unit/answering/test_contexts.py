from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from contextfind.answering.contexts import Budget, ContextReader, Library, shares
from contextfind.answering.excerpts import GAP
from contextfind.domain.errors import UnavailableError
from contextfind.domain.records import ContextType, Level
from contextfind.domain.results import MatchedContext
from contextfind.domain.tokens import estimated_tokens
from contextfind.ports import Hit, Probe, SearchIndex
from tests.households import ANN, DOCS, Household, household

SMALL = Budget(tokens=200, least=60)
SHORT = "The kettle is in the kitchen."
LONG = "\n\n".join(
    f"# Part {n}\n\n" + (f"Paragraph {n} is about nothing that matters to anybody. " * 6)
    for n in range(40)
).replace("Paragraph 31 is about", "Paragraph 31, the heron's, is about")


class DeadIndex:
    async def search(self, probes: Sequence[Probe]) -> Sequence[Sequence[Hit]]:
        del probes
        raise UnavailableError("no index")


def reader(
    house: Household, budget: Budget = SMALL, index: SearchIndex | None = None
) -> ContextReader:
    with_ = house.reading
    library = Library(
        house.store, house.blobs, index or house.index, with_.embedder, with_.tokenizer
    )
    return ContextReader(library, budget)


def hit(name: str, abstract: str = "an abstract") -> MatchedContext:
    return MatchedContext(DOCS.child(name), ContextType.RESOURCE, Level.DETAIL, abstract, 0.5)


async def test_small_files_are_whole_and_long_ones_are_quoted_where_they_fit() -> None:
    async with household() as house:
        await house.add({"short.md": SHORT, "long.md": LONG})
        short, long = await reader(house).read(
            ANN, "where is the heron?", [hit("short.md"), hit("long.md")]
        )
    assert short == SHORT
    assert "the heron's" in long
    assert long.startswith(GAP)
    assert estimated_tokens(long) <= SMALL.tokens - estimated_tokens(short)


async def test_a_file_that_fits_is_given_byte_for_byte() -> None:
    text = "  # Odd\n\n\n\tspaces stay  \n"
    async with household() as house:
        await house.add({"a.md": text})
        assert await reader(house).read(ANN, "q", [hit("a.md")]) == [text]


async def test_a_file_that_is_gone_is_represented_by_its_abstract() -> None:
    async with household() as house:
        await house.add({"a.md": SHORT})
        assert await reader(house).read(ANN, "q", [hit("b.md"), hit("a.md")]) == [
            "an abstract",
            SHORT,
        ]


async def test_without_an_index_words_choose() -> None:
    async with household() as house:
        await house.add({"long.md": LONG})
        dead = reader(house, index=DeadIndex())  # type: ignore[arg-type]
        (text,) = await dead.read(ANN, "where is the heron?", [hit("long.md")])
    assert "the heron's" in text


async def test_each_read_counts_as_a_use() -> None:
    counted: list[int] = []
    async with household() as house:
        await house.add({"a.md": SHORT})
        with_ = house.reading
        library = Library(
            house.store, house.blobs, house.index, with_.embedder, with_.tokenizer, counted.append
        )
        await ContextReader(library, SMALL).read(ANN, "q", [hit("a.md"), hit("gone.md")])
    assert len(counted) == 1


def test_what_small_texts_leave_goes_to_the_long_ones() -> None:
    assert shares([10, 1_000, 1_000], Budget(210, 50)) == [10, 100, 100]
    assert shares([1_000, 30, 80], Budget(210, 50)) == [100, 30, 80]
    assert shares([5, 5], Budget(100, 50)) == [5, 5]
    assert shares([], Budget(100, 50)) == []


def test_each_of_very_many_texts_has_the_least() -> None:
    assert shares([100] * 10, Budget(200, 50)) == [50] * 10


@given(st.lists(st.integers(0, 5_000), max_size=11))
def test_shares_stay_within_the_budget_and_need(sizes: list[int]) -> None:
    budget = Budget(5_000, 450)
    rooms = shares(sizes, budget)
    assert all(
        min(size, budget.least) <= room <= size for size, room in zip(sizes, rooms, strict=True)
    )
    assert sum(rooms) <= budget.tokens
