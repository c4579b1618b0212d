from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfind.domain.uri import Uri
from contextfind.sessions.memory_files import (
    Memory,
    MemoryKind,
    as_file,
    folded,
    memories_uri,
    memory_uri,
    of_file,
    slug,
)
from tests.households import ANN

DAY = date(2026, 3, 1)
TOP = "viking://user/ann/memories"
TEA = Memory(MemoryKind.PREFERENCE, "Favourite tea", "Ann drinks oolong.\n\nNever milk.", DAY)


@pytest.mark.parametrize(
    ("kind", "title", "address"),
    [
        (MemoryKind.PREFERENCE, "Favourite tea", "preferences/favourite-tea.md"),
        (MemoryKind.FACT, "喜欢的茶：乌龙", "facts/喜欢的茶-乌龙.md"),
        (MemoryKind.EVENT, "Launch of Atlas 2.0", "events/2026-03-01-launch-of-atlas-2-0.md"),
        (MemoryKind.CASE, "मेरी चाय", "cases/मेरी-चाय.md"),
        (MemoryKind.FACT, "../../../bob/memories/x", "facts/bob-memories-x.md"),
        (MemoryKind.FACT, "..", "facts/.md"),
    ],
)
def test_the_address_is_made_of_the_letters_of_the_title(
    kind: MemoryKind, title: str, address: str
) -> None:
    assert memory_uri(ANN, kind, title, DAY).text == f"{TOP}/{address}"


@given(st.text(max_size=100), st.sampled_from(MemoryKind))
def test_no_title_leads_out_of_the_directory_of_its_kind(title: str, kind: MemoryKind) -> None:
    uri = memory_uri(ANN, kind, title, DAY)
    assert uri.parent is not None
    assert uri.parent.parent == memories_uri(ANN)
    assert Uri.parse(uri.text) == uri
    assert slug(slug(title)) == slug(title)


def test_the_same_title_in_another_spelling_is_the_same_address() -> None:
    assert slug("Favourite  Tea!") == slug("ＦＡＶＯＵＲＩＴＥ tea") == "favourite-tea"
    assert slug("Cafe\u0301") == slug("Café")


def test_a_file_says_title_day_and_text_and_is_read_as_it_was_written() -> None:
    body = as_file(TEA)
    assert body == "# Favourite tea\n\n2026-03-01\n\nAnn drinks oolong.\n\nNever milk.\n"
    assert of_file(Uri(f"{TOP}/preferences/favourite-tea.md"), body) == TEA


@pytest.mark.parametrize(
    ("name", "body", "memory"),
    [
        ("notes.md", "Just a line.\n", Memory(None, "notes", "Just a line.", None)),
        ("facts/a.md", "# A\n\nText.\n", Memory(MemoryKind.FACT, "A", "Text.", None)),
        ("facts/b.md", "# B\n\n2026-13-01\n\nText.", Memory(MemoryKind.FACT, "B", "Text.", None)),
        ("other/c.md", "# C\n\n2026-03-01\n\nText.", Memory(None, "C", "Text.", DAY)),
    ],
)
def test_a_file_in_another_form_or_place_is_read_too(name: str, body: str, memory: Memory) -> None:
    assert of_file(Uri(f"{TOP}/{name}"), body) == memory


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ann drinks oolong.", "ann drinks  OOLONG", True),
        ("安喝乌龙茶。", "安喝乌龙茶", True),
        ("It costs 1.5", "It costs 15", False),
        ("Ann writes C.", "Ann writes C++.", False),
    ],
)
def test_the_same_words_are_the_same_whatever_their_dress(
    one: str,
    other: str,
    same: bool,  # noqa: FBT001
) -> None:
    assert (folded(one) == folded(other)) is same
