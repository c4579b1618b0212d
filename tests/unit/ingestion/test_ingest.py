from collections.abc import AsyncIterator

import pytest

from contextfind.adapters.memory.sources import MemorySource
from contextfind.domain.errors import PermissionDeniedError
from contextfind.domain.filters import Tagged
from contextfind.domain.records import Level
from contextfind.domain.uri import Uri
from contextfind.ingestion.ingest import AddPlan
from tests.fakes import FakeEmbedder
from tests.households import ANN, DOCS, Household, household

FILES: dict[str, bytes | str] = {
    "release/rollback.md": "# Rollback\n\nStop the canary and redeploy the last good version.",
    "release/freeze.md": "# Freeze\n\nNo merges after Thursday noon.",
    "中文/发布流程.md": "# 发布流程\n\n灰度发布失败时执行回滚步骤。",
    "README.md": "# Atlas\n\nHow we ship Atlas.",
}


@pytest.fixture
async def house() -> AsyncIterator[Household]:
    async with household() as built:
        yield built


async def test_a_file_keeps_its_address_and_is_found_by_it(house: Household) -> None:
    outcome = await house.add(FILES)
    assert (outcome.added, outcome.failed, outcome.skipped) == (4, [], [])
    (best, *_) = await house.find("canary redeploy")
    assert best.uri.text == "viking://resources/docs/release/rollback.md"
    (best, *_) = await house.find("回滚步骤")
    assert best.uri.text == "viking://resources/docs/中文/发布流程.md"


async def test_every_directory_gets_summaries_up_to_the_scope_root(house: Household) -> None:
    await house.add(FILES)
    overview = await house.browser.overview(ANN, Uri("viking://resources/docs/release"))
    assert "rollback.md" in overview
    assert "freeze.md" in overview
    assert "Atlas" in await house.browser.abstract(ANN, DOCS)
    assert "docs" in await house.browser.overview(ANN, Uri("viking://resources"))


async def test_the_same_files_again_cost_no_model_call_and_change_nothing() -> None:
    embedder = FakeEmbedder()
    async with household(embedder) as house:
        await house.add(FILES)
        calls, position = len(embedder.calls), await house.store.position()
        outcome = await house.add(FILES)
        assert (outcome.unchanged, outcome.added, outcome.updated) == (4, 0, 0)
        assert len(embedder.calls) == calls
        assert await house.store.position() == position


async def test_a_changed_file_is_updated_and_a_missing_one_disappears(house: Household) -> None:
    await house.add(FILES)
    changed = dict(FILES)
    changed["release/rollback.md"] = "# Rollback\n\nPress the big zirconium button."
    del changed["中文/发布流程.md"]
    outcome = await house.add(changed)
    assert (outcome.updated, outcome.removed, outcome.unchanged) == (1, 1, 2)
    assert "中文" not in await house.addresses()
    assert (await house.find("zirconium"))[0].uri.name == "rollback.md"
    assert all("发布流程" not in hit.uri.text for hit in await house.find("回滚步骤"))


async def test_a_deleted_files_words_leave_the_summaries_above(house: Household) -> None:
    await house.add({**FILES, "release/secret.md": "# Zirconium\n\nThe zirconium plan."})
    assert "irconium" in await house.browser.overview(ANN, DOCS.child("release"))
    await house.writer.remove(ANN, DOCS.child("release/secret.md"), recursive=False)
    await house.settled()
    assert "irconium" not in await house.browser.overview(ANN, DOCS.child("release"))
    assert not [h for h in await house.find("zirconium") if h.match_reason.count("zirconium")]


async def test_binary_and_oversized_files_are_skipped_with_a_reason(house: Household) -> None:
    outcome = await house.add({**FILES, "a.bin": bytes(range(256)) * 4, "big.md": "x " * 60_000})
    assert outcome.added == 4
    assert {path for path, _ in outcome.skipped} == {"a.bin", "big.md"}


async def test_gitignore_include_and_exclude_are_honoured(house: Household) -> None:
    files: dict[str, bytes | str] = {
        ".gitignore": "*.log\n",
        "a.md": "one",
        "b.log": "two",
        "c.txt": "three",
        ".git/config": "four",
        "node_modules/x/readme.md": "five",
    }
    await house.add(files)
    assert await house.addresses() == ["a.md", "c.txt"]
    await house.add(files, exclude=("*.txt",))
    assert await house.addresses() == ["a.md"]


async def test_tags_are_put_on_files_and_found_by_filter(house: Household) -> None:
    await house.add(FILES, tags=("team=ops",))
    hits = await house.find("", where=Tagged("team=ops"), selective=True)
    assert len(hits) == 4
    assert {hit.level for hit in hits} == {Level.DETAIL}


async def test_a_file_where_a_directory_is_fails_alone(house: Household) -> None:
    await house.add({"a/b.md": "inside"})
    data = {"a": b"now a file", "c.md": b"fine"}

    async def ignore(done: int, total: int) -> None:
        assert done <= total

    outcome = await house.ingest.add(AddPlan(ANN, DOCS), MemorySource(data), ignore)
    assert [path for path, _ in outcome.failed] == ["a"]
    assert outcome.added == 1


async def test_a_tree_in_somebody_elses_place_is_refused(house: Household) -> None:
    with pytest.raises(PermissionDeniedError):
        await house.writer.write(ANN, Uri("viking://user/ben/x.md"), "x", "create")


async def test_a_long_file_is_found_by_its_last_line(house: Household) -> None:
    text = "# Log\n\n" + "\n\n".join(f"Entry {n} says nothing special." for n in range(1_500))
    await house.add({"long.md": text + "\n\nvault code 88-kilo"})
    (best, *_) = await house.find("vault code 88-kilo")
    assert best.uri.name == "long.md"


async def test_texts_with_nul_and_surrogates_are_ingested_and_found(house: Household) -> None:
    await house.add({"odd.md": b"<|endoftext|> before \x00 after \xed\xa0\x80 the kumquat"})
    assert (await house.find("kumquat"))[0].uri.name == "odd.md"


async def test_a_tree_added_again_removes_only_what_it_brought_itself(house: Household) -> None:
    await house.add({"a/one.md": "one", "a/two.md": "two", "b/three.md": "three"})
    await house.writer.write(ANN, DOCS.child("a/by hand.md"), "mine", "create")
    await house.add({"a/four.md": "four"}, source="other docs")
    outcome = await house.add({"b/three.md": "three"})
    assert outcome.removed == 2
    assert await house.addresses() == ["a", "a/by hand.md", "a/four.md", "b", "b/three.md"]


async def test_a_directory_that_held_nothing_else_goes_with_its_files(house: Household) -> None:
    await house.add({"a/b/one.md": "one", "c.md": "c"})
    await house.add({"c.md": "c"})
    assert await house.addresses() == ["c.md"]


async def test_a_directory_that_was_emptied_says_nothing_of_what_it_held(house: Household) -> None:
    await house.add({"secret/plan.md": "# Zirconium\n\nThe zirconium plan.", "a.md": "a"})
    folder = DOCS.child("secret")
    assert "irconium" in await house.browser.overview(ANN, folder)
    await house.writer.remove(ANN, folder.child("plan.md"), recursive=False)
    await house.settled()
    assert "irconium" not in await house.browser.overview(ANN, folder)
    assert "irconium" not in await house.browser.abstract(ANN, folder)
    assert "irconium" not in await house.browser.overview(ANN, DOCS)
