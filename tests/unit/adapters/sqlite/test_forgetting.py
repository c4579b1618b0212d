"""The log forgets that something is gone, and tells from where on it still can be followed."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from contextfind.adapters.sqlite import forgetting
from contextfind.adapters.sqlite.compaction import SqliteCompaction
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ports.store import Commit, RecordDraft
from tests.builders import NOON


@dataclass
class File:
    """A database file: the store in it and its chores."""

    store: SqliteRecordStore
    compaction: SqliteCompaction

    async def write(self, number: int) -> None:
        uri = Uri(f"viking://resources/{number}.md")
        draft = RecordDraft(uri, Level.DETAIL, ContextType.RESOURCE, f"about {number}", ())
        await self.store.commit(Commit("acme", NOON, put=(draft,)))

    async def remove(self, number: int) -> None:
        uri = Uri(f"viking://resources/{number}.md")
        await self.store.commit(Commit("acme", NOON, remove=(uri,)))

    async def log(self) -> list[tuple[int, bool]]:
        """Return position and whether the record is there."""
        changes = await self.store.changes(0, 100)
        return [(change.position, change.record is not None) for change in changes]

    async def tidy(self, followed: int) -> int:
        self.compaction.note_followed(followed)
        (chore,) = [one for one in self.compaction.chores if "log entries" in one.things]
        return sum([step.things async for step in chore.steps()])


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[File]:
    database = await Database.open(tmp_path)
    yield File(SqliteRecordStore(database), SqliteCompaction(database))
    await database.aclose()


async def lived(file: File) -> None:
    """Write six, remove three: positions 7, 8, 9 tell of what is gone, and 10 of something new."""
    for number in range(1, 7):
        await file.write(number)
    for number in (1, 3, 5):
        await file.remove(number)
    await file.write(7)


async def test_what_every_index_has_followed_is_forgotten(file: File) -> None:
    await lived(file)
    kept = [(2, True), (4, True), (6, True)]
    assert await file.log() == [*kept, (7, False), (8, False), (9, False), (10, True)]
    assert await file.tidy(followed=8) == 2
    assert await file.log() == [*kept, (9, False), (10, True)]
    assert await file.compaction.forgotten() == 8
    assert await file.tidy(followed=8) == 0
    assert await file.tidy(followed=10) == 1
    assert await file.log() == [*kept, (10, True)]
    assert await file.compaction.forgotten() == 10
    assert await file.store.position() == 10


async def test_without_an_index_on_disk_nothing_is_forgotten(file: File) -> None:
    await lived(file)
    before = await file.log()
    assert await file.tidy(followed=0) == 0
    assert await file.log() == before
    assert await file.compaction.forgotten() == 0


async def test_the_last_entry_stays_so_that_positions_go_on(file: File) -> None:
    await lived(file)
    await file.remove(7)
    assert await file.tidy(followed=11) == 3
    assert (await file.log())[-1] == (11, False)
    await file.write(8)
    assert (await file.log())[-1] == (12, True)


async def test_what_changes_again_moves_up_and_is_told(file: File) -> None:
    await lived(file)
    await file.tidy(followed=10)
    await file.remove(2)
    assert await file.log() == [(4, True), (6, True), (10, True), (11, False)]


async def test_it_goes_in_small_steps_and_may_stop_after_any(
    file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting, "_AT_ONCE", 3)
    await lived(file)
    file.compaction.note_followed(10)
    (chore,) = [one for one in file.compaction.chores if "log entries" in one.things]
    steps = chore.steps()
    assert [(await anext(steps)).things for _ in range(2)] == [0, 3]  # 2, 4, 6; then 7, 8, 9
    await steps.aclose()
    assert await file.compaction.forgotten() == 9
    assert await file.tidy(followed=10) == 0
    assert await file.log() == [(2, True), (4, True), (6, True), (10, True)]
