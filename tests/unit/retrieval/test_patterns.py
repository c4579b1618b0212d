import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contextfind.domain.errors import InvalidArgumentError
from contextfind.retrieval.patterns import line_pattern, lines_with, path_pattern

PATTERNS = ("a", "^a", "a$", "^$", "a.*b", r"\s", "[^a]", "(?i)A", "x*", "a|^b", "é+", "b b")


def found(text: str, body: str, most: int = 100, *, ignore_case: bool = False) -> list[int]:
    pattern = line_pattern(text, ignore_case=ignore_case)
    return [line.number for line in lines_with(pattern, body.encode(), most)]


def expected(text: str, body: str) -> list[int]:
    lines = body.replace("\r\n", "\n").split("\n")
    if lines[-1] == "" and len(lines) > 1:
        del lines[-1]
    return [number for number, line in enumerate(lines, 1) if re.search(text, line)]


@given(st.sampled_from(PATTERNS), st.text("aAbxé \n", max_size=40))
@example("^$", "a\n\n")
@example("^$", "")
@example("x*", "\n")
@example("a$", "a\r\nb\r\n")
def test_a_line_is_found_when_the_pattern_fits_into_it(text: str, body: str) -> None:
    assert found(text, body) == expected(text, body)


def test_lines_are_shown_whole_and_counted_from_one() -> None:
    pattern = line_pattern("key", ignore_case=True)
    body = "one\n  the KEY is here, the key\nnothing\nkey: 回滚\n".encode()
    assert [(line.number, line.text) for line in lines_with(pattern, body, 9)] == [
        (2, "  the KEY is here, the key"),
        (4, "key: 回滚"),
    ]
    assert [line.number for line in lines_with(pattern, body, 1)] == [2]


def test_of_a_long_line_the_piece_with_the_match_is_shown() -> None:
    (line,) = lines_with(line_pattern("needle", ignore_case=False), b"x" * 9_999 + b"needle", 9)
    assert line.text.endswith("xneedle")
    assert len(line.text) == 206


@pytest.mark.parametrize(
    "text", ["(", "a)(b", "[a", "(?=a)b", r"(a)\1", "a{1001}", "*", r"\pL{300}", " ", ""]
)
def test_what_cannot_be_read_is_refused_and_said(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^pattern ") as refusal:
        line_pattern(text, ignore_case=False)
    assert "?m" not in str(refusal.value)


def test_patterns_have_a_length() -> None:
    assert found("a" * 1_000, "a" * 1_000) == [1]
    for compiled in (lambda text: line_pattern(text, ignore_case=False), path_pattern):
        with pytest.raises(InvalidArgumentError, match="1001 characters"):
            compiled("a" * 1_001)


@pytest.mark.parametrize("text", ["(a+)+$", "(a|a)*b", "(x+x+)+y", "(?:a?){500}a{500}b"])
def test_no_pattern_takes_longer_than_the_text_is_long(text: str) -> None:
    began = time.monotonic()
    found(text, "a" * 300_000 + "!" + "x" * 300_000)
    assert time.monotonic() - began < 10  # others need centuries


@pytest.mark.parametrize(
    ("text", "path", "fits"),
    [
        ("*.md", "a.md", True),
        ("*.md", "d/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "d/e/a.md", True),
        ("**/*auth*.md", "d/my auth 1.md", True),
        ("d/**", "d/e/a.md", True),
        ("d/**", "d", False),
        ("d/**/a.md", "d/a.md", True),
        ("d/*/a.md", "d/e/f/a.md", False),
        ("?.md", "回.md", True),
        ("?.md", "ab.md", False),
        ("[ab].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("[!ab].md", "c.md", True),
        ("[a-c]*", "beta", True),
        ("[]]", "]", True),
        ("[", "[", True),
        ("a[!b]c", "a/c", False),
        ("a.md", "aXmd", False),
        ("a+(b).md", "a+(b).md", True),
        ("/d/*", "d/a", True),
        ("**", "d/a\nb", True),
    ],
)
def test_wildcards_mean_what_they_mean_in_a_shell(text: str, path: str, fits: bool) -> None:  # noqa: FBT001
    assert (path_pattern(text).fullmatch(path.encode()) is not None) is fits


@pytest.mark.parametrize("text", ["", "  ", "[z-a]"])
def test_wildcards_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^pattern "):
        path_pattern(text)
