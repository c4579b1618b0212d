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
from contextfind.domain.scope import visible_to
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import draft_file
from contextfind.ingestion.passages import PassageRules
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


TEXT = (
    "# Rollback steps\n\nStop the canary.\n\n## Then\n\n" + "Tell the on-call what happened. " * 60
)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("notes/a.md", "notes/b.md"),
        ("notes/a.md", "a.md"),
        ("a.md", "atlas/release-notes/a.md"),
        ("notes/" + "deep/" * 60 + "a.md", "short/a.md"),
    ],
)
async def test_a_moved_file_is_found_by_what_it_would_be_found_by_if_it_was_written_there(
    house: Household, source: str, target: str
) -> None:
    root = Uri("viking://resources")
    here, there = root.child(source), root.child(target)
    await house.writer.write(ANN, here, TEXT, "create")
    await house.settled()
    done = await house.writer.move(ANN, here, there)
    assert done.moved == [there]
    drafted = draft_file(there, TEXT.encode(), None, PassageRules()).drafts[0]
    (record,) = await house.store.at(visible_to(ANN), there)
    wanted = [(record.id, passage.ordinal) for passage in drafted.passages]
    assert await house.store.passages(wanted) == list(drafted.passages)
    assert await house.browser.read(ANN, there) == TEXT


async def test_renaming_a_resource_embeds_nothing_again(house: Household) -> None:
    old, new = Uri("viking://resources/old"), Uri("viking://resources/new")
    await house.writer.write(ANN, old.child("plans/a.md"), TEXT, "create")
    await house.settled()
    before = (await house.store.counts())["vectors"]
    await house.writer.move(ANN, old, new)
    (record,) = await house.store.at(visible_to(ANN), new.child("plans/a.md"))
    changes = [one for one in await house.store.changes(0, 1_000) if one.id == record.id]
    assert changes[0].vectors is not None
    assert before > 1
    await house.settled()
    assert (await house.find("canary"))[0].uri.is_under(new)


async def test_an_append_and_a_move_side_by_side_lose_nothing(house: Household) -> None:
    for turn in range(10):
        here, there = (Uri(f"viking://resources/{name}/{turn}.md") for name in ("notes", "moved"))
        await house.writer.write(ANN, here, "one ", "create")
        await asyncio.gather(
            house.writer.write(ANN, here, "two", "append"), house.writer.move(ANN, here, there)
        )
        texts = [
            await house.browser.read(ANN, uri) for uri in (here, there) if await _is(house, uri)
        ]
        assert sorted(texts) in (["one two"], ["one ", "two"])


async def _is(house: Household, uri: Uri) -> bool:
    return bool(await house.store.at(visible_to(ANN), uri))


async def test_an_address_that_would_become_too_long_stops_a_move(house: Household) -> None:
    long = Uri("viking://resources/d/" + "x" * 1_900)
    await house.writer.write(ANN, long, "text", "create")
    with pytest.raises(InvalidUriError, match="longer than"):
        await house.writer.move(
            ANN, Uri("viking://resources/d"), Uri("viking://resources/" + "y" * 200)
        )
    assert await house.browser.read(ANN, long) == "text"
