"""SKILL.md texts: read, and made from parts."""

import pytest

from contextfind.domain.errors import InvalidArgumentError
from contextfind.ingestion.parsing.front_matter import front_block, front_matter
from contextfind.ingestion.skill_text import LONGEST, head_of, heads_of, text_of

TEXT = "---\nname: csv\ndescription: Make a CSV.\n---\n\n# How\n\nLike this.\n"


def test_the_head_of_a_text() -> None:
    head = head_of(TEXT)
    assert (head.name, head.description, head.body_lines) == ("csv", "Make a CSV.", 3)
    assert head.errors == ()
    assert [one.name for one in heads_of([TEXT, TEXT])] == ["csv", "csv"]


def test_a_text_without_front_matter_says_what_is_expected() -> None:
    (error,) = head_of("# Just a page\n").errors
    assert "no front matter" in error
    assert "name" in error
    assert "description" in error


def test_a_colon_in_a_text_is_explained() -> None:
    (error,) = head_of("---\nname: a\ndescription: use when: asked\n---\n").errors
    assert "in line 3" in error
    assert "quotes" in error


def test_a_front_matter_that_is_no_mapping_is_named() -> None:
    (error,) = head_of("---\n- a\n- b\n---\nx\n").errors
    assert "holds no names with values" in error


def test_a_text_that_nobody_reads_whole_is_refused() -> None:
    assert head_of(TEXT + "x" * (LONGEST - len(TEXT))).errors == ()
    (error,) = head_of(TEXT + "x" * LONGEST).errors
    assert "expected at most 1000000" in error


def test_an_empty_front_matter_lacks_both() -> None:
    assert len(head_of("---\n---\nx\n").errors) == 2


@pytest.mark.parametrize("front", ["\ufeff", "\n\n", "  \r\n\ufeff"])
def test_what_stands_in_front_of_the_front_matter_is_dropped(front: str) -> None:
    assert text_of(front + TEXT) == TEXT


def test_a_text_is_made_of_parts() -> None:
    parts = {
        "name": "csv",
        "description": "Use when: a table is there — 表格",
        "content": "# How\n",
        "allowed-tools": ["Read"],
    }
    text = text_of(parts)
    head = head_of(text)
    assert (head.name, head.description) == ("csv", "Use when: a table is there — 表格")
    assert head.allowed_tools == ("Read",)
    assert head.errors == ()
    assert text.endswith("---\n\n# How\n")
    assert "表格" in text


def test_parts_stand_above_the_front_matter_of_their_content() -> None:
    text = text_of({"name": "other", "content": "---\nname: csv\nlicense: MIT\n---\n# How\n"})
    assert front_block(text).values == {"name": "other", "license": "MIT"}
    assert text.count("---") == 2
    assert text.endswith("\n# How\n")


def test_parts_keep_a_content_that_only_looks_like_front_matter() -> None:
    content = "---\na: b: c\n---\n# How\n"
    text = text_of({"name": "a", "description": "b", "content": content})
    assert text.endswith(content)
    assert head_of(text).errors == ()


def test_parts_that_make_no_text_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"data\.content is a value of type int"):
        text_of({"name": "a", "content": 3})
    with pytest.raises(InvalidArgumentError, match="front matter cannot hold"):
        text_of({"name": object()})


def test_parts_without_a_description_lack_it_as_a_text_does() -> None:
    assert "no description" in head_of(text_of({"name": "a", "content": "x"})).errors[0]


def test_an_endless_number_is_no_title_and_breaks_nothing() -> None:
    digits = "0x" + "f" * 5_000
    assert front_matter(f"---\ntitle: {digits}\ndescription: {digits}\n---\n").title == ""
    assert "type int" in head_of(f"---\nname: {digits}\ndescription: x\n---\n").errors[0]
