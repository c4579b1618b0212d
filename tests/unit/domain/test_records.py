import pytest

from contextfind.domain.records import (
    ContextType,
    Level,
    context_type_of,
    shown_address,
    split_level,
)
from contextfind.domain.uri import Uri


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("viking://resources/memories/a.md", ContextType.RESOURCE),
        ("viking://user/ann/memories/a.md", ContextType.MEMORY),
        ("viking://user/ann/memories", ContextType.MEMORY),
        ("viking://user/ann/skills/x/SKILL.md", ContextType.SKILL),
        ("viking://user/ann/resources/a.md", ContextType.RESOURCE),
        ("viking://agent/skills/x", ContextType.SKILL),
        ("viking://agent/memories/x", ContextType.MEMORY),
        ("viking://agent/other", ContextType.RESOURCE),
        ("viking://user/ann", ContextType.RESOURCE),
    ],
)
def test_the_shelf_follows_from_the_place_in_the_tree(address: str, kind: ContextType) -> None:
    assert context_type_of(Uri.parse(address)) is kind


@pytest.mark.parametrize("level", list(Level))
def test_a_shown_address_leads_back_to_directory_and_level(level: Level) -> None:
    uri = Uri.parse("viking://resources/a")
    shown = Uri.parse(shown_address(uri, level))
    assert split_level(shown) == (uri, None if level is Level.DETAIL else level)
