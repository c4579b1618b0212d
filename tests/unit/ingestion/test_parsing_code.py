import time

import pytest

from contextfind.domain.documents import Document
from contextfind.ingestion.parsing.reader import read_document

SECONDS = 3  # a megabyte takes less than one on an idle machine; anything quadratic takes minutes


def read(name: str, text: str) -> Document:
    return read_document(name, text.encode())


def headings(document: Document) -> list[str]:
    return [" > ".join(section.headings) for section in document.sections]


PYTHON = '''"""Release things.

More.
"""
import os

LIMIT = 3


@cached
def first(a):
    return a


# What a release is.
class Release:
    """One release."""

    name = ""

    def start(self):
        def inner():
            pass
        return inner

    async def stop(self):
        pass


class Empty: ...
'''


def test_python_is_cut_at_classes_functions_and_methods() -> None:
    assert headings(read("a.py", PYTHON)) == [
        "",
        "def first",
        "class Release",
        "class Release > def start",
        "class Release > def stop",
        "class Empty",
    ]


def test_comments_and_decorators_belong_to_what_they_stand_above() -> None:
    sections = read("a.py", PYTHON).sections
    assert sections[1].blocks[0].startswith("@cached")
    assert sections[2].blocks[0].startswith("# What a release is.")


def test_a_module_says_what_it_is_for() -> None:
    assert read("a.py", PYTHON).description == "Release things."
    assert read(
        "a.go", "// Package foo serves bars.\n// It is fast.\npackage foo\n"
    ).description == ("Package foo serves bars. It is fast.")
    assert read("a.c", "/* Copyright 2024 X */\n\n/* Ring buffers. */\nint a;\n").description == (
        "Ring buffers."
    )


def test_a_docstring_with_half_a_character_can_be_stored() -> None:
    document = read("a.py", '"""Half \\ud800 and \\0."""\nx = 1\n')
    assert document.description == "Half \ufffd and \ufffd."


def test_python_that_does_not_parse_is_still_cut() -> None:
    assert "def broken" in headings(read("a.py", "import x\n\ndef broken(:\n    pass\n"))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a.ts",
            (
                "import x from 'y';\n\nexport class Foo<T> extends Bar {\n  async run(a: string) {\n"
                "    if (a) {\n      go();\n    }\n  }\n}\n\nexport const load = async (a) => {\n};\n\n"
                "export default function main() {\n}\n"
            ),
            ["", "class Foo", "class Foo > run()", "load", "function main"],
        ),
        (
            "a.go",
            (
                "package a\n\ntype Server struct {\n\tport int\n}\n\nfunc (s *Server) Start(x int) error {\n"
                "\treturn nil\n}\n\nfunc New() *Server {\n}\n"
            ),
            ["", "type Server", "func Server.Start", "func New"],
        ),
        (
            "a.rs",
            (
                "use x;\n\npub struct Foo {\n    a: u8,\n}\n\nimpl Display for Foo {\n    pub fn new() -> Foo {\n"
                "    }\n}\n\npub(crate) async fn go() {}\n"
            ),
            ["", "struct Foo", "impl Display for Foo", "impl Display for Foo > fn new", "fn go"],
        ),
        (
            "A.java",
            (
                "package a;\n\npublic final class A implements B {\n    private int x;\n\n    @Override\n"
                "    public List<String> names(int a, String b) throws E {\n        return call(a);\n    }\n}\n"
            ),
            ["", "class A", "class A > names()"],
        ),
        (
            "a.c",
            (
                '#include "a.h"\n\nstatic int add(int a, int b)\n{\n    return a + b;\n}\n\n'
                "struct point {\n    int x;\n};\n"
            ),
            ["", "add()", "struct point"],
        ),
        (
            "a.rb",
            "module A\n  class B\n    def c\n      1\n    end\n  end\nend\n",
            ["module A", "module A > class B"],
        ),
        (
            "a.sh",
            "set -e\n\ndeploy() {\n  ls\n}\n\nfunction undo {\n  ls\n}\n",
            ["", "deploy", "function undo"],
        ),
        ("a.sql", "CREATE TABLE IF NOT EXISTS users (\n  id int\n);\n", ["table users"]),
        ("Makefile", "all: build\n\tls\n\nclean:\n\trm x\n", ["all", "clean"]),
        (
            "Dockerfile",
            "ARG x\nFROM python:3.12 AS base\nRUN ls\n",
            ["", "FROM python:3.12 AS base"],
        ),
        (
            "main.tf",
            'resource "aws_s3_bucket" "b" {\n  x = 1\n}\n',
            ['resource "aws_s3_bucket" "b"'],
        ),
        ("a.kt", "fun main() {\n}\n\ndata class P(val x: Int)\n", ["fun main", "class P"]),
        ("a.proto", "message Hit {\n  int64 id = 1;\n}\n", ["message Hit"]),
    ],
)
def test_definitions_of_common_languages_become_headings(
    name: str, text: str, expected: list[str]
) -> None:
    assert headings(read(name, text)) == expected


def test_code_is_marked_as_lines_that_mean_something() -> None:
    assert all(section.verbatim for section in read("a.py", PYTHON).sections)


def test_every_line_of_code_is_kept() -> None:
    for name in ("a.py", "a.go", "a.ts", "a.css", "a.sh"):
        joined = "\n".join(b for s in read(name, PYTHON).sections for b in s.blocks)
        assert joined.split() == PYTHON.split()


@pytest.mark.parametrize("name", ["a.py", "a.ts", "a.go", "a.sql", "Makefile", "a.sh", "a.tf"])
@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "(" * 100_000,
        "x+" * 300_000,
        "{\n" * 50_000,
        "  int foo bar baz(a, b, c) x y\n" * 20_000,
        "# a\n" * 100_000,
        "".join(" " * depth + "if x:\n" for depth in range(500)),
    ],
)
def test_odd_code_is_read_quickly_and_never_fails(name: str, text: str) -> None:
    start = time.process_time()
    document = read(name, text)
    assert time.process_time() - start < SECONDS
    assert document.text == text
