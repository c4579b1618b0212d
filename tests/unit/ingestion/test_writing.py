import asyncio
from collections.abc import AsyncIterator

import pytest

from contextfind.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidArgumentError,
    InvalidUriError,
    NotFoundError,
    PermissionDeniedError,
)
from contextfind.domain.uri import Uri
from contextfind.ports import Commit
from tests.builders import NOON
from tests.households import ANN, BEN, OTHER, Household, household

NOTE = Uri("viking://resources/notes/a.md")


@pytest.fixture
async def house() -> AsyncIterator[Household]:
    async with household() as built:
        yield built


async def test_a_written_file_is_read_back_and_found(house: Household) -> None:
    written = await house.writer.write(ANN, NOTE, "zebra quantum pineapple", "create")
    assert written.size == len("zebra quantum pineapple")
    assert await house.browser.read(ANN, NOTE) == "zebra quantum pineapple"
    await house.settled()
    assert (await house.find("zebra"))[0].uri == NOTE


async def test_create_refuses_what_is_there_replace_replaces_and_append_appends(
    house: Household,
) -> None:
    await house.writer.write(ANN, NOTE, "one", "create")
    with pytest.raises(AlreadyExistsError, match="replace"):
        await house.writer.write(ANN, NOTE, "two", "create")
    await house.writer.write(ANN, NOTE, "two", "replace")
    await house.writer.write(ANN, NOTE, " three", "append")
    assert await house.browser.read(ANN, NOTE) == "two three"


async def test_appends_side_by_side_lose_nothing(house: Household) -> None:
    await asyncio.gather(
        *(house.writer.write(ANN, NOTE, f"line {n}\n", "append") for n in range(30))
    )
    assert sorted((await house.browser.read(ANN, NOTE)).split()) == sorted(
        "".join(f"line {n}\n" for n in range(30)).split()
    )


async def test_tags_stay_when_a_write_names_none(house: Household) -> None:
    await house.writer.write(ANN, NOTE, "one", "create", ("a=1",))
    await house.writer.write(ANN, NOTE, "two", "replace")
    assert (await house.browser.stat(ANN, NOTE)).tags == ("a=1",)


async def test_a_directory_is_removed_only_when_asked_for(house: Household) -> None:
    await house.writer.write(ANN, NOTE, "one", "create")
    folder = Uri("viking://resources/notes")
    with pytest.raises(InvalidArgumentError, match="recursive"):
        await house.writer.remove(ANN, folder, recursive=False)
    assert await house.writer.remove(ANN, folder, recursive=True) == 3
    with pytest.raises(NotFoundError):
        await house.browser.read(ANN, NOTE)
    assert await house.writer.remove(ANN, folder, recursive=False) == 0


async def test_mkdir_makes_a_directory_that_is_found_by_its_description(house: Household) -> None:
    folder = Uri("viking://resources/plans")
    await house.writer.mkdir(ANN, folder, "Roadmaps of the zeppelin programme")
    await house.settled()
    assert (await house.browser.stat(ANN, folder)).is_directory
    assert (await house.find("zeppelin"))[0].uri == folder
    with pytest.raises(ConflictError):
        await house.writer.mkdir(ANN, folder)


@pytest.mark.parametrize(
    "place",
    [
        "viking://",
        "viking://resources",
        "viking://user",
        "viking://user/ann",
        "viking://resources/a/.abstract.md",
    ],
)
async def test_what_is_no_place_for_a_file_is_refused(house: Household, place: str) -> None:
    with pytest.raises(InvalidUriError):
        await house.writer.write(ANN, Uri(place), "x", "replace")


async def test_users_and_accounts_are_apart(house: Household) -> None:
    own = Uri("viking://user/ben/memories/locker.md")
    await house.writer.write(BEN, own, "my locker is 42", "create")
    await house.writer.write(OTHER, NOTE, "the locker of another account", "create")
    await house.settled()
    assert await house.find("locker") == []
    with pytest.raises(PermissionDeniedError):
        await house.browser.read(ANN, own)
    with pytest.raises(NotFoundError):
        await house.browser.read(ANN, NOTE)
    assert (await house.find("locker", BEN))[0].uri == own


async def test_what_changes_nothing_is_settled_as_soon_as_what_does(house: Household) -> None:
    """Neither has a log entry that could wake the keeper of the summaries."""
    await house.writer.write(ANN, NOTE, "one", "create")
    await house.settled()
    await house.writer.write(ANN, NOTE, "one", "replace")
    settled = await house.settling.settle("acme", None, 0.9)
    assert (settled.directories, settled.note) == (0, "")
    assert (
        await house.writer.remove(ANN, Uri("viking://resources/notes/b.md"), recursive=False) == 0
    )
    settled = await house.settling.settle("acme", None, 0.9)
    assert (settled.directories, settled.note) == (0, "")


async def test_a_directory_that_was_marked_without_a_beat_is_looked_at_soon(
    house: Household,
) -> None:
    await house.writer.write(ANN, NOTE, "one", "create")
    await house.settled()
    await house.store.commit(Commit("acme", NOON, stale=[Uri("viking://resources/notes")]))
    settled = await house.settling.settle("acme", None, 5)
    assert (settled.directories, settled.note) == (0, "")
