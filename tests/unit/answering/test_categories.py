"""Which category an address belongs to, and the conditions that say the same to an index."""

import pytest

from contextfind.answering.assembly.categories import (
    ACTOR_PEER,
    CATEGORIES,
    FOLDERS,
    OTHER_PEER,
    SELF,
    Household,
    is_peer,
    origin_of,
    place_of,
)
from contextfind.domain.filters import matches
from contextfind.domain.uri import Uri
from tests.builders import make_record

PLACES = {
    "viking://resources/a.md": "resources",
    "viking://resources/memories/events/a.md": "resources",
    "viking://user/ann/resources/a.md": "resources",
    "viking://user/ann/a.md": "resources",
    "viking://user/ann/memories/events/a.md": "events",
    "viking://user/ann/memories/facts/a.md": "entities",
    "viking://user/ann/memories/entities/x/a.md": "entities",
    "viking://user/ann/memories/preferences/a.md": "preferences",
    "viking://user/ann/memories/cases/a.md": "experiences",
    "viking://user/ann/memories/profile.md": "memories",
    "viking://user/ann/memories/tools/a.md": "memories",
    "viking://agent/memories/experiences/a.md": "experiences",
    "viking://agent/skills/report/SKILL.md": "skills",
    "viking://user/ann/peers/lap/memories/events/a.md": "events",
    "viking://user/ann/peers/lap/skills/x/SKILL.md": "skills",
    "viking://user/ann/peers/lap/notes.md": "resources",
}
ANN = Household("ann", ["lap"])


@pytest.mark.parametrize(("text", "category"), PLACES.items())
def test_a_category_is_the_same_by_address_and_by_condition(text: str, category: str) -> None:
    uri = Uri(text)
    assert place_of(uri).category == category
    assert not place_of(uri).navigation
    one = make_record(uri=text)
    by_condition = {name for name in CATEGORIES if matches(ANN.where(name), one)}
    wanted = {category, "memories"} if category in FOLDERS else {category}
    assert by_condition == wanted


@pytest.mark.parametrize(
    "text",
    [
        "viking://",
        "viking://resources",
        "viking://agent",
        "viking://user",
        "viking://user/ann",
        "viking://user/ann/memories",
        "viking://user/ann/resources",
        "viking://agent/skills",
        "viking://user/ann/peers",
        "viking://user/ann/peers/lap",
        "viking://user/ann/peers/lap/memories",
    ],
)
def test_roots_are_ways_to_other_things(text: str) -> None:
    assert place_of(Uri(text)).navigation


def test_whose_something_is() -> None:
    mine = place_of(Uri("viking://user/ann/peers/lap/memories/events/a.md"))
    assert origin_of(mine, "lap") == ACTOR_PEER
    assert origin_of(mine, "desk") == origin_of(mine, "") == OTHER_PEER
    assert origin_of(place_of(Uri("viking://agent/memories/a.md")), "lap") == SELF
    assert is_peer("lap top", "ann")
    assert not any(is_peer(name, "ann") for name in ("a/b", "..", "", "%2e%2e", "x" * 201))
