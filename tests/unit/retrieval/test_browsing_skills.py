"""Skills by name: listed, read, and named behind the hits of a find."""

from collections.abc import Sequence

import pytest

from contextfind.domain.errors import InvalidUriError, NotFoundError, PermissionDeniedError
from contextfind.domain.filters import OneOf, all_of
from contextfind.domain.records import ContextType, Level
from contextfind.domain.results import MatchedContext
from contextfind.domain.skills import SHARED_SKILLS, SkillHead, own_skills
from contextfind.domain.uri import Uri
from contextfind.ingestion.skill_text import heads_of
from contextfind.retrieval.skills import SKILL_FILTER, SkillBrowser
from tests.households import ANN, BEN, OTHER, Household, household

OWN = own_skills("ann")
TEXTS = {
    "viking://agent/skills/csv/SKILL.md": "---\nname: csv\ndescription: Make a CSV.\n---\n# How\n",
    "viking://agent/skills/csv/parts/SKILL.md": "---\nname: inner\ndescription: a part\n---\n",
    "viking://agent/skills/csv/parts/rows.md": "# Rows\n\nOne line per row.\n",
    "viking://agent/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: shared\n---\n",
    "viking://agent/skills/loose.md": "# No skill\n",
    "viking://agent/skills/empty/README.md": "# No skill either\n",
    "viking://user/ann/skills/pdf/skill.md": "---\nname: pdf\ndescription: my own\n"
    "allowed-tools: [Read]\ntags: [team=ops]\n---\n# How\n",
    "viking://user/ann/skills/bare/SKILL.md": "Just do it.\n",
    "viking://user/ben/skills/secret/SKILL.md": "---\nname: secret\ndescription: ben's\n---\n",
}


async def heads(texts: Sequence[str]) -> Sequence[SkillHead]:
    return heads_of(texts)


async def filled(home: Household) -> SkillBrowser:
    for uri, text in TEXTS.items():
        await home.writer.write(BEN if "/ben/" in uri else ANN, Uri(uri), text, "create")
    await home.settled()
    return SkillBrowser(home.store, home.blobs, home.browser, heads)


def hit(uri: str) -> MatchedContext:
    return MatchedContext(Uri(uri), ContextType.SKILL, Level.DETAIL, "", 0.5)


async def test_a_listing_has_the_own_and_the_shared_skills_by_name() -> None:
    async with household() as home:
        found = await (await filled(home)).list(ANN, 10)
    assert [(one.name, one.root.text, one.description) for one in found.skills] == [
        ("bare", "viking://user/ann/skills", "Just do it."),
        ("csv", "viking://agent/skills", "Make a CSV."),
        ("pdf", "viking://agent/skills", "shared"),
        ("pdf", "viking://user/ann/skills", "my own"),
    ]
    assert found.total == 4
    assert (found.skills[3].tags, found.skills[3].allowed_tools) == (("team=ops",), ("Read",))


async def test_a_listing_is_cut_and_says_how_many_there_are() -> None:
    async with household() as home:
        found = await (await filled(home)).list(ANN, 2)
    assert ([one.name for one in found.skills], found.total) == (["bare", "csv"], 4)


async def test_a_listing_of_one_place() -> None:
    async with household() as home:
        skills = await filled(home)
        assert [one.name for one in (await skills.list(ANN, 9, [SHARED_SKILLS])).skills] == [
            "csv",
            "pdf",
        ]
        assert [one.name for one in (await skills.list(BEN, 9, [own_skills("ben")])).skills] == [
            "secret"
        ]


async def test_nobody_sees_the_skills_of_another_user_or_account() -> None:
    async with household() as home:
        skills = await filled(home)
        assert (await skills.list(OTHER, 9)).total == 0
        assert await skills.find(ANN, "secret") is None
        with pytest.raises(PermissionDeniedError):
            await skills.list(ANN, 9, [own_skills("ben")])
        with pytest.raises(NotFoundError, match="no skill 'csv'"):
            await skills.read(OTHER, "csv")
        named = [hit("viking://user/ben/skills/secret/SKILL.md")]
        assert await skills.of_hits(ANN, named) == []


async def test_the_own_skill_comes_first_and_the_shared_one_is_reached_by_its_place() -> None:
    async with household() as home:
        skills = await filled(home)
        assert (await skills.read(ANN, "pdf")).skill.description == "my own"
        assert (await skills.read(ANN, "pdf", [SHARED_SKILLS])).skill.description == "shared"
        assert (await skills.read(BEN, "pdf")).skill.description == "shared"


async def test_a_skill_is_read_with_all_its_files() -> None:
    async with household() as home:
        page = await (await filled(home)).read(BEN, "csv")
    assert page.skill.file.text == "viking://agent/skills/csv/SKILL.md"
    assert page.content == TEXTS[page.skill.file.text]
    assert page.overview.startswith("# csv\n\ncsv: Make a CSV.")
    assert [entry.uri.text.removeprefix(page.skill.uri.folder) for entry in page.files] == [
        "SKILL.md",
        "parts",
        "parts/SKILL.md",
        "parts/rows.md",
    ]


async def test_reading_a_skill_counts_as_a_use_and_listing_does_not() -> None:
    async with household() as home:
        counted: list[int] = []
        browser = type(home.browser)(home.store, home.blobs, counted.append)
        await filled(home)
        skills = SkillBrowser(home.store, home.blobs, browser, heads)
        await skills.list(ANN, 9)
        assert counted == []
        await skills.read(ANN, "csv")
        assert len(counted) == 2  # its text and its overview


@pytest.mark.parametrize("name", ["loose.md", "empty", "parts", "csv/parts", "nope"])
async def test_what_is_no_skill_is_not_found_by_name(name: str) -> None:
    async with household() as home:
        skills = await filled(home)
        assert await skills.find(ANN, name) is None
        with pytest.raises(NotFoundError) as caught:
            await skills.read(ANN, name)
    assert caught.value.details == {"resource": name, "type": "skill"}


async def test_a_name_that_leads_elsewhere_is_no_address() -> None:
    async with household() as home:
        with pytest.raises(InvalidUriError):
            await (await filled(home)).find(ANN, "../memories")


async def test_a_skill_whose_text_is_lost_is_still_listed() -> None:
    async with household() as home:
        skills = await filled(home)
        home.blobs._blobs.clear()
        listed = (await skills.list(ANN, 9, [SHARED_SKILLS])).skills
    assert [(one.name, one.description) for one in listed] == [
        ("csv", "csv: Make a CSV."),
        ("pdf", "pdf: shared"),
    ]


async def test_hits_are_named_by_their_skills_in_order() -> None:
    async with household() as home:
        skills = await filled(home)
        hits = [
            hit("viking://agent/skills/pdf/SKILL.md"),
            hit("viking://agent/skills/csv/parts/SKILL.md"),
            hit("viking://agent/skills/gone/SKILL.md"),
            hit("viking://agent/skills/csv/SKILL.md"),
        ]
        named = await skills.of_hits(ANN, hits)
    assert [(one.uri, skill.name) for one, skill in named] == [
        (hits[0].uri, "pdf"),
        (hits[3].uri, "csv"),
    ]


async def test_the_filter_of_skills_keeps_their_files_alone() -> None:
    async with household() as home:
        await filled(home)
        where = all_of(OneOf("context_type", frozenset({"skill"})), SKILL_FILTER)
        hits = await home.find("csv rows how", where=where)
    assert {one.uri.name for one in hits} == {"SKILL.md", "skill.md"}
    assert {one.level for one in hits} == {Level.DETAIL}
