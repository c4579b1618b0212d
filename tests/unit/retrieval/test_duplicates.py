"""The page of a find: still stored, each text once, full as long as there is more."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.documents import make_passage
from contextfind.domain.filters import OneOf, Tagged
from contextfind.domain.identity import Identity
from contextfind.domain.records import Level, Passage, Record, RecordId, context_type_of
from contextfind.domain.scope import Scope, visible_to
from contextfind.domain.uri import Uri
from contextfind.ports import Commit, Hit, RecordDraft
from contextfind.retrieval.duplicates import Page, PageMaker
from contextfind.retrieval.frontier import Scored
from tests.builders import NOON
from tests.households import ANN, BEN, OTHER, household

TOP = "viking://resources"
PARAGRAPH = "Roll back with the zebra switch,\n  then tell the people on duty."


class CountingStore(MemoryRecordStore):
    """Counts the reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    async def found(
        self, wanted: Sequence[tuple[RecordId, int]]
    ) -> Sequence[tuple[Record, Passage | None] | None]:
        self.reads.append(f"found {len(wanted)}")
        return await super().found(wanted)


class Shelf:
    """Stored texts, ranked in the order they were put in."""

    def __init__(self) -> None:
        self.store = CountingStore()
        self.ranked: list[Scored] = []

    async def put(
        self, texts: Mapping[str, str], level: Level = Level.DETAIL, who: Identity = ANN
    ) -> None:
        for address, text in texts.items():
            uri = Uri.parse(address)
            passage = make_passage(0, "", text, uri.text)
            draft = RecordDraft(uri, level, context_type_of(uri), text[:40], (passage,))
            await self.store.commit(Commit(who.account, NOON, put=[draft]))
            records = await self.store.at(visible_to(who, None), uri)
            record = next(record for record in records if record.level is level)
            hit = Hit(record.id, uri, level, 0, 0.9, 0.5)
            score = 1 - len(self.ranked) / 1_000
            self.ranked.append(Scored(hit, score, score, score, "", None))

    async def page(
        self,
        limit: int = 10,
        *,
        collapse: bool = True,
        floor: float | None = None,
        scope: Scope | None = None,
    ) -> Page:
        maker = PageMaker(self.store, collapse=collapse)
        scope = scope or visible_to(ANN, None)
        return await maker.make(lambda count: self.ranked[:count], limit, floor, scope)


def names(hits: Sequence[object]) -> list[str]:
    scored = [getattr(hit, "scored", hit) for hit in hits]
    return [one.hit.uri.text.removeprefix(f"{TOP}/") for one in scored]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


async def test_files_that_say_the_same_share_one_place(shelf: Shelf) -> None:
    spaced = " ".join(PARAGRAPH.split()) + "\n"
    await shelf.put({f"{TOP}/a/1.md": PARAGRAPH, f"{TOP}/b/2.md": "Else.", f"{TOP}/c/3.md": spaced})
    page = await shelf.page()
    assert names(page.chosen) == ["a/1.md", "b/2.md"]
    assert names(page.chosen[0].twins) == ["c/3.md"]
    assert names(page.chosen[1].twins) == []
    assert page.collapsed


async def test_the_free_places_are_filled_with_the_next_hits(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/{n}/copy.md": PARAGRAPH for n in range(8)})
    await shelf.put({f"{TOP}/own{n}.md": f"text {n}" for n in range(9)})
    page = await shelf.page(limit=5)
    assert names(page.chosen) == ["0/copy.md", "own0.md", "own1.md", "own2.md", "own3.md"]
    assert len(page.chosen[0].twins) == 7


async def test_switched_off_every_hit_has_a_place_of_its_own(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/{n}/copy.md": PARAGRAPH for n in range(8)})
    page = await shelf.page(limit=5, collapse=False)
    assert len(page.chosen) == 5
    assert not page.collapsed


@pytest.mark.parametrize("level", [Level.ABSTRACT, Level.OVERVIEW])
async def test_summaries_of_directories_stand_for_themselves(shelf: Shelf, level: Level) -> None:
    await shelf.put({f"{TOP}/{n}": PARAGRAPH for n in range(3)}, level)
    assert len((await shelf.page()).chosen) == 3


async def test_a_directory_whose_best_file_is_a_copy_is_passed_over(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/{place}.md": PARAGRAPH for place in ("a/1", "b/in/1", "c/1")})
    await shelf.put({f"{TOP}/{place}": place for place in ("a", "b", "b/in", "c")}, Level.ABSTRACT)
    await shelf.put({TOP: "all"}, Level.OVERVIEW)
    page = await shelf.page()
    assert names(page.chosen) == ["a/1.md", "a", TOP]
    assert names(page.chosen[0].twins) == ["b/in/1.md", "c/1.md"]
    assert names(page.chosen[0].folders) == ["b", "b/in", "c"]
    assert len((await shelf.page(collapse=False)).chosen) == 8


async def test_a_directory_with_a_better_file_than_the_copy_stays(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/a/1.md": PARAGRAPH, f"{TOP}/b/own.md": "Else."})
    await shelf.put({f"{TOP}/b/copy.md": PARAGRAPH})
    await shelf.put({f"{TOP}/b": "b"}, Level.ABSTRACT)
    assert names((await shelf.page()).chosen) == ["a/1.md", "b/own.md", "b"]


async def test_blank_passages_stand_for_themselves(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/{n}/empty.md": " \n" for n in range(3)})
    assert len((await shelf.page()).chosen) == 3


async def test_each_shelf_keeps_its_own_copy(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/a.md": PARAGRAPH, "viking://user/ann/memories/a.md": PARAGRAPH})
    assert len((await shelf.page()).chosen) == 2


async def test_what_is_gone_or_out_of_sight_is_neither_shown_nor_named(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/gone.md": PARAGRAPH})
    await shelf.put({"viking://user/ben/copy.md": PARAGRAPH}, who=BEN)
    await shelf.put({f"{TOP}/theirs.md": PARAGRAPH}, who=OTHER)
    await shelf.put({f"{TOP}/mine.md": PARAGRAPH, f"{TOP}/also.md": PARAGRAPH})
    await shelf.store.commit(Commit("acme", NOON, remove=[Uri(f"{TOP}/gone.md")]))
    page = await shelf.page(limit=1)
    assert names(page.chosen) == ["mine.md"]
    assert len(page.gone) == 3


async def test_below_the_floor_nothing_is_shown_or_named(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/{n}.md": PARAGRAPH for n in range(4)})
    page = await shelf.page(floor=shelf.ranked[1].score)
    assert names(page.chosen[0].twins) == ["1.md"]


async def test_without_copies_each_kind_of_thing_is_read_once(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/{n}.md": f"text {n}" for n in range(50)})
    await shelf.page(limit=10)
    assert shelf.store.reads == ["found 10"]


async def test_on_a_list_of_copies_few_reads_are_made(shelf: Shelf) -> None:
    await shelf.put({f"{TOP}/{n}.md": PARAGRAPH for n in range(400)})
    page = await shelf.page(limit=10)
    assert len(page.chosen[0].twins) == 399
    assert len(shelf.store.reads) <= 6


def plainly(texts: Sequence[str], limit: int) -> list[tuple[int, list[int]]]:
    """Go down the list one by one: which places are shown, and which stand behind each."""
    shown: dict[str, tuple[int, list[int]]] = {}
    for place, text in enumerate(texts):
        if len(shown) == limit:
            break
        key = " ".join(text.split()) or f"blank {place}"
        if key in shown:
            shown[key][1].append(place)
        else:
            shown[key] = (place, [])
    return list(shown.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", " b\n", "c", "d", " "]), max_size=40), st.integers(1, 6))
async def test_a_page_is_what_going_down_the_ranking_one_by_one_gives(
    texts: list[str], limit: int
) -> None:
    shelf = Shelf()
    await shelf.put({f"{TOP}/{n:02}.md": text for n, text in enumerate(texts)})
    page = await shelf.page(limit)
    expected = [
        (f"{first:02}.md", [f"{twin:02}.md" for twin in twins])
        for first, twins in plainly(texts, limit)
    ]
    assert [(names([one])[0], names(one.twins)) for one in page.chosen] == expected


async def test_the_same_paragraph_in_8_folders_leaves_room_for_the_others() -> None:
    copies = {f"team{n}/rollback.md": f"# Rollback\n\n{PARAGRAPH}\n" for n in range(8)}
    others = {f"other/{n}.md": f"# Zebra {n}\n\nThe zebra switch number {n}.\n" for n in range(6)}
    async with household() as house:
        await house.add({**copies, **others})
        hits = await house.find("roll back with the zebra switch", limit=9)
        files = [hit for hit in hits if hit.level is Level.DETAIL]
        copied = [hit for hit in files if hit.uri.name == "rollback.md"]
        assert len(hits) == 9
        assert len(copied) == 1
        assert len({hit.uri.text for hit in hits if "/team" in hit.uri.text}) == 2
        assert len([hit for hit in files if "/other/" in hit.uri.text]) == 2
        reason = copied[0].match_reason
        assert "same text in 7 other places: viking://resources/docs/team" in reason
        assert reason.endswith(", …")
        assert reason.count("rollback.md") == 3
        again = await house.find("roll back with the zebra switch", limit=9)
        assert again == hits


async def test_a_listing_by_conditions_alone_shows_every_copy() -> None:
    async with household() as house:
        await house.add({f"team{n}/a.md": PARAGRAPH for n in range(5)}, tags=("team=ops",))
        hits = await house.find("", where=Tagged("team=ops"), selective=True, limit=10)
        assert len([hit for hit in hits if hit.level is Level.DETAIL]) == 5


async def test_more_copies_than_candidates_leave_room_for_the_others_too() -> None:
    copies = {f"team{n:03}/license.md": PARAGRAPH for n in range(130)}
    others = {f"other/{n}.md": f"The zebra number {n}, far away." for n in range(4)}
    async with household() as house:
        await house.add({**copies, **others})
        hits = await house.find("roll back zebra switch", where=OneOf("level", frozenset({"2"})))
        assert len(hits) == 5
        assert "same text in 129 other places" in hits[0].match_reason
