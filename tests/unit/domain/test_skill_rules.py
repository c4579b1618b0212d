"""What a skill must say of itself, and which addresses are skills."""

import pytest

from contextfind.domain.errors import InvalidArgumentError, PermissionDeniedError
from contextfind.domain.identity import Identity
from contextfind.domain.skills import read_head, skill_of, skill_root, skill_roots
from contextfind.domain.uri import Uri

ANN = Identity("acme", "ann")
GOOD = {"name": "csv-report", "description": "Make a CSV report."}


def test_a_head_says_what_the_front_matter_says() -> None:
    values = {**GOOD, "allowed-tools": ["Read", " Grep "], "tags": "team=Ops, lang=en"}
    head = read_head(values, "\n# How\n\nLike this.\n\n")
    assert (head.name, head.description) == ("csv-report", "Make a CSV report.")
    assert head.allowed_tools == ("Read", "Grep")
    assert head.tags == ("lang=en", "team=ops")
    assert head.body_lines == 3
    assert (head.errors, head.warnings) == ((), ())


def test_a_description_is_one_line_and_a_number_may_be_a_name() -> None:
    head = read_head({"name": 42, "description": "first\n  second\n"}, "x")
    assert (head.name, head.description) == ("42", "first second")
    assert head.errors == ()


def test_a_description_has_no_characters_that_models_choke_on() -> None:
    head = read_head({"name": "a", "description": "x\x00y \ud800"}, "x")
    assert head.description == "x y \ufffd"


def test_tools_of_a_text_are_kept_whole() -> None:
    head = read_head({**GOOD, "allowed_tools": "Read, Bash(git add:*) Write"}, "x")
    assert head.allowed_tools == ("Read", "Bash(git add:*)", "Write")


@pytest.mark.parametrize(
    ("values", "field", "says"),
    [
        ({"description": "x"}, "name", "no name"),
        ({"name": "a"}, "description", "no description"),
        ({"name": "  ", "description": "x"}, "name", "blank"),
        ({"name": "a", "description": None}, "description", "blank"),
        ({"name": True, "description": "x"}, "name", "type bool"),
        ({"name": ["a"], "description": "x"}, "name", "type list"),
        ({"name": 10**5000, "description": "x"}, "name", "type int"),
        ({"name": "a/b", "description": "x"}, "name", "without '/'"),
        ({"name": "..", "description": "x"}, "name", "dotted segment"),
        ({"name": "a\x07b", "description": "x"}, "name", "control character"),
        ({"name": ".abstract.md", "description": "x"}, "name", "kept for the summary"),
        ({"name": "n" * 3_000, "description": "x"}, "name", "longer than 2048"),
    ],
)
def test_what_is_missing_or_wrong_is_named(
    values: dict[object, object], field: str, says: str
) -> None:
    (error,) = read_head(values, "x").errors
    assert field in error
    assert says in error
    assert len(error) < 200


def test_all_that_is_missing_is_told_at_once() -> None:
    assert len(read_head({}, "x").errors) == 2


@pytest.mark.parametrize(
    ("values", "body", "says"),
    [
        ({**GOOD, "name": "CSV Report"}, "x", "lower case"),
        ({**GOOD, "name": "a" * 65}, "x", "64 at most"),
        ({**GOOD, "description": "x" * 1_025}, "x", "1025 characters"),
        (GOOD, " \n", "nothing stands below"),
        ({**GOOD, "tags": ["csv"]}, "x", "tag 'csv' is not key=value"),
        ({**GOOD, "tags": {"a": 1}}, "x", "tags is no text"),
        ({**GOOD, "allowed-tools": 3}, "x", "allowed-tools is no text"),
    ],
)
def test_what_other_tools_may_trip_over_is_a_warning(
    values: dict[object, object], body: str, says: str
) -> None:
    head = read_head(values, body)
    assert head.errors == ()
    (warning,) = head.warnings
    assert says in warning


def test_a_chinese_name_is_a_usual_one() -> None:
    assert read_head({"name": "提取表格", "description": "从 PDF 提取表格"}, "x").warnings == ()


@pytest.mark.parametrize(
    ("file", "skill"),
    [
        ("viking://agent/skills/a/SKILL.md", "viking://agent/skills/a"),
        ("viking://user/ann/skills/a b/skill.md", "viking://user/ann/skills/a b"),
        ("viking://agent/skills/a/b/SKILL.md", None),
        ("viking://agent/skills/SKILL.md", None),
        ("viking://agent/skills/a/README.md", None),
        ("viking://agent/other/a/SKILL.md", None),
        ("viking://resources/skills/a/SKILL.md", None),
        ("viking://user/ann/notes/a/SKILL.md", None),
        ("viking://user/ann", None),
    ],
)
def test_a_skill_is_a_directory_below_a_directory_of_skills(file: str, skill: str | None) -> None:
    found = skill_of(Uri(file))
    assert (None if found is None else found.text) == skill


def test_a_caller_has_two_directories_of_skills_the_own_one_first() -> None:
    own, shared = skill_roots("ann")
    assert (own.text, shared.text) == ("viking://user/ann/skills", "viking://agent/skills")
    assert skill_root(ANN, own) == own
    assert skill_root(ANN, shared) == shared


def test_other_places_hold_no_skills() -> None:
    with pytest.raises(PermissionDeniedError):
        skill_root(ANN, Uri("viking://user/ben/skills"))
    for place in ("viking://resources", "viking://agent", "viking://agent/skills/a"):
        with pytest.raises(InvalidArgumentError, match="target_uri is") as caught:
            skill_root(ANN, Uri(place))
        assert "viking://user/ann/skills or viking://agent/skills" in str(caught.value)
