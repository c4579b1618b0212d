import json
import time

import pytest

from contextfind.domain.documents import Document
from contextfind.ingestion.parsing.reader import read_document

SECONDS = 3  # a megabyte takes less than one on an idle machine; anything quadratic takes minutes


def read(name: str, text: str) -> Document:
    return read_document(name, text.encode())


def blocks(document: Document) -> list[str]:
    return [block for section in document.sections for block in section.blocks]


def headings(document: Document) -> list[tuple[str, ...]]:
    return [section.headings for section in document.sections]


def test_html_becomes_markdown_without_scripts_styles_and_navigation() -> None:
    document = read(
        "a.html",
        "<!doctype html><html><head><title>发布 &amp; 回滚</title><style>p{}</style>"
        '<meta name="description" content="How to undo."></head><body><nav><a href="/">Home</a></nav>'
        "<script>alert('x')</script><h1>Rollback</h1><p>Stop <b>first</b>.</p>"
        "<h2>Steps</h2><ul><li>one</li><li>two</li></ul>"
        "<table><tr><th>a</th></tr><tr><td>1</td></tr></table></body></html>",
    )
    assert document.title == "发布 & 回滚"
    assert document.description == "How to undo."
    assert document.converted
    assert headings(document) == [("Rollback",), ("Rollback", "Steps")]
    assert "Stop **first**." in document.text
    for gone in ("alert", "p{}", "Home"):
        assert gone not in document.text


def test_html_without_a_title_is_called_by_its_heading() -> None:
    assert read("a.htm", "<h1>Top</h1><p>x</p>").title == "Top"


def test_html_that_is_nested_too_deeply_keeps_its_text() -> None:
    assert "deep words" in read("a.html", "<div>" * 20_000 + "deep words").text


@pytest.mark.parametrize("declaration", ["<![CDAT[x]]>", "<![", "<![<", "<!x[y]z", "<![if a]>"])
def test_html_with_a_declaration_that_is_none_keeps_its_text(declaration: str) -> None:
    assert "plain words" in read("a.html", f"{declaration}<p>plain words</p>").text


@pytest.mark.parametrize(
    "text",
    [
        "<" * 1_000_000,
        "<script " * 50_000,
        "<script>a" * 50_000,
        "<title>a" * 50_000,
        "<!--" * 50_000,
        " " * 1_000_000,
        "<meta name=description " * 20_000,
        "<div>" * 50_000,
        "<p>" + "x" * 1_000_000,
    ],
)
def test_nasty_html_is_read_in_linear_time(text: str) -> None:
    start = time.process_time()
    read("a.html", text)
    assert time.process_time() - start < SECONDS


def test_json_shows_real_characters_and_keeps_its_text() -> None:
    text = '{\n  "name": "\\u56de\\u6eda \\ud83d\\ude80 \\ud800 a\\u0000b \\u0022",\n  "b": 1\n}\n'
    document = read("a.json", text)
    assert document.text == text
    assert '回滚 🚀 \ufffd a\ufffdb \\"' in blocks(document)[1]
    assert headings(document) == [(), ("name",), ("b",)]


def test_an_escaped_backslash_before_u_is_left_alone() -> None:
    assert blocks(read("a.json", '{"a": "\\\\u56de"}')) == ['{"a": "\\\\u56de"}']


def test_json_in_one_line_is_laid_out_by_its_keys() -> None:
    document = read("a.json", json.dumps({f"key{i}": "值" * 20 for i in range(50)}))
    assert ("key7",) in headings(document)
    assert '"key7": "' + "值" * 20 + '",' in blocks(document)[8]


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "nul", "", '{"a":' * 5_000])
def test_broken_json_is_text(text: str) -> None:
    assert read("a.json", text).text == text


def test_json_lines_are_a_block_each() -> None:
    assert blocks(read("a.jsonl", '{"a":"\\u4e2d"}\n{"a":2}\n')) == ['{"a":"中"}', '{"a":2}']


def test_yaml_and_toml_are_cut_at_their_top_level_keys() -> None:
    yaml = "# top\nserver:\n  port: 1\n  host: x\n\nlog:\n  - a: 1\n回滚: yes\n"
    assert headings(read("a.yaml", yaml)) == [(), ("server",), ("log",), ("回滚",)]
    toml = 'a = 1\n\n[server]\nport = 1\n\n[[tool.x]]\nb = "c"\n'
    assert headings(read("a.toml", toml)) == [(), ("server",), ("tool.x",)]
    assert headings(read("a.ini", "[one]\na=1\n[two]\nb=2\n")) == [("one",), ("two",)]


def test_rows_of_a_table_come_with_their_header() -> None:
    rows = "\n".join(f"{i},name {i},城市" for i in range(200))
    groups = blocks(read("a.csv", f"id,name,city\n{rows}\n"))
    assert len(groups) > 3
    assert all(group.startswith("id,name,city\n") for group in groups)
    assert sum(group.count("\n") for group in groups) == 200


def test_an_endless_header_is_not_repeated() -> None:
    wide = ",".join(f"column{i}" for i in range(1_000))
    groups = blocks(read("a.csv", wide + "\n" + "1,2,3\n" * 1_000))
    assert sum(map(len, groups)) < 2 * (len(wide) + 6_000)


def test_xml_in_one_line_gets_lines() -> None:
    text = "<a>" + "".join(f"<b><c>{i}</c></b>" for i in range(200)) + "</a>"
    assert "<c>7</c></b>\n<b>" in blocks(read("a.xml", text))[0]


def test_a_notebook_is_its_texts_and_its_code() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# 分析\n", "\n", "Why."]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"data": "iVBORw0KGgo"}]},
    ]
    document = read("a.ipynb", json.dumps({"cells": cells}))
    assert document.title == "分析"
    assert document.text == "# 分析\n\nWhy.\n\n```\nprint(1)\n```"
    assert document.converted
    assert read("a.ipynb", '{"cells": 3}').text == '{"cells": 3}'


def test_underlined_headings_of_plain_text_and_rst_count() -> None:
    text = "=====\nTitle\n=====\n\nintro\n\nPart\n----\n\na\n\nSub\n~~~\n\nb\n\nNext\n----\n\nc\n"
    document = read("a.rst", text)
    assert headings(document) == [
        ("Title",),
        ("Title", "Part"),
        ("Title", "Part", "Sub"),
        ("Title", "Next"),
    ]
    assert document.title == "Title"


def test_a_separator_in_plain_text_is_no_heading() -> None:
    assert headings(read("a.txt", "one\ntwo three\n--------------\n\nfour\n")) == [()]


def test_asciidoc_org_and_tex_have_headings() -> None:
    assert headings(read("a.adoc", "= T\n\na\n\n== S\n\nb\n")) == [("T",), ("T", "S")]
    assert headings(read("a.org", "* T\na\n** S\nb\n")) == [("T",), ("T", "S")]
    assert headings(read("a.tex", "\\section{T}\na\n\\subsection{S}\nb\n")) == [("T",), ("T", "S")]


def test_logs_are_lines() -> None:
    assert read("a.log", "12:00 a\n12:01 b\n").sections[0].verbatim


def test_what_nobody_knows_is_plain_text_when_it_is_text() -> None:
    for name in ("LICENSE", "回滚", "a.unknown", ".env", "deep/er/NOTES", "a."):
        assert blocks(read(name, "one\n\ntwo\n")) == ["one", "two"]


@pytest.mark.parametrize(
    "suffix", ["txt", "rst", "json", "yaml", "csv", "xml", "toml", "adoc", "tex", "log", "jsonl"]
)
@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        " " * 1_000_000,
        "=\n" * 50_000,
        "a_b: c\n" * 100_000,
        '"' * 100_000,
        "\\" * 100_000,
    ],
)
def test_a_megabyte_of_any_format_is_read_in_linear_time(suffix: str, text: str) -> None:
    start = time.process_time()
    read(f"a.{suffix}", text)
    assert time.process_time() - start < SECONDS
