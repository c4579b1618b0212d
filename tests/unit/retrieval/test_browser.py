"""Listings of the scopes, which are there before anything is stored in them."""

import pytest

from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.identity import Identity
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.store import Commit, RecordDraft
from contextfind.retrieval.browsing import Browser, Listing
from tests.builders import NOON

ANN = Identity("acme", "ann", "user")
USERS = Uri("viking://user")


@pytest.fixture
def store() -> MemoryRecordStore:
    return MemoryRecordStore()


@pytest.fixture
def browser(store: MemoryRecordStore) -> Browser:
    return Browser(store, MemoryBlobs())


def shown(listing: Listing) -> list[str]:
    assert all(entry.is_directory for entry in listing.entries)
    return [entry.uri.text for entry in listing.entries]


@pytest.mark.parametrize(
    ("uri", "depth", "addresses"),
    [
        (ROOT, 1, ["agent", "resources", "user"]),
        (ROOT, 2, ["agent", "resources", "user", "user/ann"]),
        (USERS, 1, ["user/ann"]),
        (Uri("viking://user/ann"), 3, []),
        (Uri("viking://resources"), 3, []),
    ],
)
async def test_a_tree_of_nothing_shows_the_scopes(
    browser: Browser, uri: Uri, depth: int, addresses: list[str]
) -> None:
    listing = await browser.tree(ANN, uri, depth, 10)
    assert shown(listing) == [f"viking://{address}" for address in addresses]


@pytest.mark.parametrize("uri", [ROOT, USERS])
async def test_ls_and_a_tree_of_one_level_show_the_same_scopes(browser: Browser, uri: Uri) -> None:
    assert await browser.list(ANN, uri, 10) == await browser.tree(ANN, uri, 1, 10)


async def test_a_scope_that_holds_something_is_shown_once_and_in_its_place(
    browser: Browser, store: MemoryRecordStore
) -> None:
    held = [
        RecordDraft(Uri(f"viking://{path}"), Level.ABSTRACT, ContextType.RESOURCE, "held", ())
        for path in ("resources", "resources/docs")
    ]
    await store.commit(Commit("acme", NOON, put=held))
    listing = await browser.tree(ANN, ROOT, 9, 10)
    paths = ["agent", "resources", "resources/docs", "user", "user/ann"]
    assert shown(listing) == [f"viking://{path}" for path in paths]
    assert [entry.abstract for entry in listing.entries] == ["", "held", "held", "", ""]
    part = await browser.tree(ANN, ROOT, 9, 2, offset=1)
    assert (shown(part), part.has_more) == (["viking://resources", "viking://resources/docs"], True)
