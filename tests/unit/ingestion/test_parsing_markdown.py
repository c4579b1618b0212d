import importlib.util
import time
from typing import NoReturn

import pytest
from markdown_it.ruler import Ruler

from contextfind.domain.documents import Document
from contextfind.ingestion.parsing import markdown
from contextfind.ingestion.parsing.reader import read_document

SECONDS = 3  # a megabyte takes less than one on an idle machine; anything quadratic takes minutes


def read(text: str, name: str = "notes.md") -> Document:
    return read_document(name, text.encode("utf-8", "surrogatepass"))


def headings(document: Document) -> list[tuple[str, ...]]:
    return [section.headings for section in document.sections]


def test_headings_make_a_hierarchy_of_sections() -> None:
    document = read("# A\n\nintro\n\n## B\n\nb\n\n### C\n\nc\n\n## D ##\n\nd\n")
    assert headings(document) == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D")]
    assert document.title == "A"


def test_underlined_headings_count_too() -> None:
    assert headings(read("回滚手册\n====\n\n一\n\n步骤\n----\n\n二\n")) == [
        ("回滚手册",),
        ("回滚手册", "步骤"),
    ]


def test_a_heading_line_stays_in_the_text_of_its_section() -> None:
    assert read("# A\n\ntext\n").sections[0].blocks == ("# A", "text")


def test_hashes_inside_code_are_no_headings() -> None:
    document = read("# A\n\n```sh\n# not a heading\nls\n\nls -l\n```\n")
    assert headings(document) == [("A",)]
    assert document.sections[0].blocks[1] == "```sh\n# not a heading\nls\n\nls -l\n```"


def test_lists_and_tables_are_one_block_each() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    items = "- one\n  - inner\n\n  more of one\n- two"
    assert read(f"{items}\n\ntext\n\n{table}\n").sections[0].blocks == (items, "text", table)


def test_front_matter_gives_title_description_and_tags() -> None:
    document = read(
        "---\ntitle: 发布 手册\ndescription: >\n  How to\n  release.\n"
        "tags: [Team=Core, plain, bad=, x=1]\n---\n# Other\n"
    )
    assert document.title == "发布 手册"
    assert document.description == "How to release."
    assert document.tags == ("team=core", "x=1")
    assert document.sections[0].blocks[0].startswith("---\ntitle: 发布 手册")


def test_a_skill_is_called_by_its_name() -> None:
    document = read(
        "---\nname: pdf-fill\ndescription: Fill in PDF forms.\n---\n\n# PDF\n", "SKILL.md"
    )
    assert (document.title, document.description) == ("pdf-fill", "Fill in PDF forms.")


def test_toml_front_matter_is_read() -> None:
    assert read('+++\ntitle = "Hugo"\n+++\ntext\n').title == "Hugo"


@pytest.mark.parametrize(
    "front",
    [
        "---\n: [\n---\n",
        "---\n- a\n- b\n---\n",
        "---\ndate: 2024-99-99\n---\n",
        "---\n? {a: 1}\n---\n",
        "---\na: !!bool maybe\n---\n",
        "---\na: !!timestamp soon\n---\n",
        "---\na: !!int ''\n---\n",
        "---\na: !!float ''\n---\n",
        "---\n!!merge <<: {a: 1}\n---\n",
        "---\na: " + "[" * 51 + "]" * 51 + "\n---\n",
    ],
)
def test_front_matter_that_cannot_be_read_is_text(front: str) -> None:
    document = read(front + "\nbody\n")
    assert document.description == ""
    assert "body" in document.sections[-1].blocks[-1]


@pytest.mark.parametrize("size", [3_500, 30_000])
def test_a_toml_name_of_thousands_of_parts_takes_no_minutes(size: int) -> None:
    start = time.process_time()
    document = read("+++\n" + "a." * size + "a = 1\n+++\nbody\n")
    assert "body" in document.sections[-1].blocks[-1]
    assert time.process_time() - start < SECONDS


def test_brackets_in_brackets_take_no_seconds() -> None:
    start = time.process_time()
    nested = "a: [" + ("[" * 300 + "]" * 300 + ",") * 100 + "]"
    assert read(f"---\ntitle: x\n{nested}\n---\nbody\n").title != "x"  # it is text
    assert time.process_time() - start < SECONDS / 3
    assert read("---\ntitle: x\na: " + "[" * 50 + "]" * 50 + "\n---\n").title == "x"


def test_maps_are_not_merged_into_maps_until_the_memory_is_full() -> None:
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 20)}]}}" for n in range(1, 30)]
    front = "\n".join(["---", "title: Bomb", *lines, "description: {<<: *a29}", "---", ""])
    document = read(front + "\nbody\n")
    assert (document.title, document.description) == ("Bomb", "")


@pytest.mark.parametrize("end", ["---", "+++"])
def test_escapes_bring_no_half_characters_into_a_title(end: str) -> None:
    yaml = '---\ntitle: "a\\0b\\ud800c"\ndescription: "\\udfff"\ntags: ["x=\\ud800"]\n---\nbody\n'
    toml = (
        '+++\ntitle = "a\\u0000b\ufffdc"\ndescription = "\ufffd"\ntags = ["x=\\u0000"]\n+++\nbody\n'
    )
    document = read(yaml if end == "---" else toml)
    told = (document.title, document.description, document.tags)
    assert told == ("a\ufffdb\ufffdc", "\ufffd", ("x=\ufffd",))


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert read("---\n\ntext\n").sections[0].blocks == ("---", "text")


def test_headings_are_shown_without_markup() -> None:
    document = read("# The **bold** [link](http://x) `code` &amp; more {#anchor}\n")
    assert document.title == "The bold link code & more"


def test_an_html_heading_at_the_top_is_the_title() -> None:
    assert read('<h1 align="center"><b>Atlas</b></h1>\n\n## Install\n').title == "Atlas"


def test_link_definitions_are_kept() -> None:
    document = read("[a]: http://x\n\n[b]: http://y\n")
    assert "http://x" in document.sections[0].blocks[0]
    assert "http://y" in document.sections[0].blocks[0]


def test_windows_line_ends_are_kept_in_the_text_and_not_in_the_blocks() -> None:
    document = read("# A\r\n\r\none\r\ntwo\r\n")
    assert document.text == "# A\r\n\r\none\r\ntwo\r\n"
    assert document.sections[0].blocks == ("# A", "one\ntwo")


def test_what_is_nested_too_deeply_falls_back_to_paragraphs() -> None:
    deep = "".join("  " * level + "- x\n" for level in range(300)) + "\nafter\n\n# Later\n\nend\n"
    blocks = [block for section in read(deep).sections for block in section.blocks]
    assert blocks[-3:] == ["after", "# Later", "end"]


@pytest.mark.parametrize(
    "text",
    [
        "#" * 100_000,
        ">" * 50_000,
        "- " * 50_000,
        "[" * 100_000,
        "*a **b " * 50_000,
        "|" * 100_000,
        "x" * 1_000_000,
        " " * 1_000_000,
        "word " * 200_000,
        ("A line of some fifty characters, as people write.\n" * 5 + "\n") * 4_000,
        "".join("  " * level + "- a\n" for level in range(700)),
    ],
)
def test_a_megabyte_of_anything_is_read_in_linear_time(text: str) -> None:
    start = time.process_time()
    document = read(text)
    assert time.process_time() - start < SECONDS
    assert document.text == text


def test_threads_that_parse_first_find_the_rules_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Ruler) -> NoReturn:
        raise AssertionError("another thread would see some of the rules only")

    spec = importlib.util.spec_from_file_location("fresh", markdown.__file__)
    assert spec is not None
    assert spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    monkeypatch.setattr(Ruler, "__compile__", refuse)
    document = fresh.read_markdown("notes.md", "# A\n\n> | a | b |\n> |---|---|\n> | 1 | 2 |\n")
    assert headings(document) == [("A",)]
