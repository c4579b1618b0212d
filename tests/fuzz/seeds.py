"""Good inputs, from which the fuzzers start, and the words of each language."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from contextfind.server.examples import FIND

_EXAMPLE = Path(__file__).parents[2] / "ov.conf.example"

SKILL = (
    "---\nname: csv-report\ndescription: 'Make a CSV report: from a table'\nallowed-tools: [Read, "
    "Bash(git add:*)]\ntags: [team=ops, lang=en]\n---\n# CSV report\n\nOne line per row.\n"
)


def _quoted(words: str, behind: str = "") -> tuple[bytes, ...]:
    """Return each of the words as a JSON text, and what stands behind it."""
    return tuple(f'"{word}"{behind}'.encode() for word in words.split())


FRONT_WORDS = (
    b"---\n", b"+++\n", b"...\n", b"name: ", b"description: ", b"title: ", b"tags: [a=b]", b"&a ", b"*a",
    b"<<: ", b"!!int ", b"!!bool ", b"!!timestamp ", b"!!binary ", b"!!set ", b"!!omap ", b"!!python/name:",
    b"? ", b"- ", b"{", b"}", b"[", b"]", b": ", b"| ", b"> ", b"0x", b".inf", b".nan", b"2026-03-01",
    b"12:30:45", b"%YAML 1.1\n", b"\\u0000", b'"\\ud800"', b"1e400", b"~", b"a.b.c = 1", b"[[x]]", b'"""',
)  # fmt: skip
URI_WORDS = (
    b"viking://", b"viking://~/", b"resources/", b"user/ann/", b"agent/skills/", b"/", b"..", b"%2e%2e",
    b"~", b"\xcc\x81", b"\xed\xa0\x80", b".overview.md", b"\xef\xbc\x8f", b"%2f",
)  # fmt: skip
FILTER_WORDS = _quoted(
    "op field conds cond must must_not range range_out time_range and or not prefix contains gte gt "
    "lt lte substring level uri name context_type tags search_tags created_at updated_at "
    "active_count resource skill memory team=ops 7d 2026-03-01 viking://~/memories"
)
FIND_WORDS = (
    *FILTER_WORDS,
    *_quoted(
        "query filter target_uri limit level score_threshold tags since until time_field "
        "context_type read_content include_provenance telemetry image_url node_limit",
        ": ",
    ),
    b"null", b"true", b"1e999", b"NaN", b"-1", b"[]", b"{}", b'"\\ud800"', b'"\\u0000"',
)  # fmt: skip
CONFIG_WORDS = (
    *_quoted(
        "server storage embedding vlm query_planner rerank retrieval log host port api_key path "
        "provider dense model api_base dimension level format score_propagation_alpha ak sk",
        ": ",
    ),
    b'"$HOME"', b'"${KEY}"', b"null", b"NaN", b"1e999", b"9" * 5_000, b"-1", b"\0CONTEXTFIND_",
    b"\0CONTEXTFIND_SERVER__PORT=", b"\0CONTEXTFIND_SERVER__ALLOWED_PATHS=[", b"\nCONTEXTFIND_API_KEY=",
)  # fmt: skip
MARKDOWN_WORDS = (
    b"# ", b"## ", b"===\n", b"---\n", b"```\n", b"~~~", b"> ", b"- ", b"1. ", b"    ", b"\t", b"|", b"|---|",
    b"[a]: ", b"<div>", b"<!--", b"-->", b"<h1>", b"</h1>", b"&amp;", b"![](", b"{#a}", b"\\", b"***",
    b"<?", b"<![CDATA[",
)  # fmt: skip
HTML_WORDS = (
    b"<table>", b"<tr>", b"<td colspan='", b"<th>", b"</", b"<ol start='", b"<li>", b"<ul>", b"<pre>",
    b"<script>", b"<style>", b"<title>", b"<a href='", b"<img src='", b"<h1>", b"<h9>", b"<br>", b"<!--",
    b"<![CDATA[", b"<!DOCTYPE ", b"<?xml ", b"&#x", b"&#99999999999;", b"&lt", b"<meta name=description ",
    b'content="', b"<template>", b"<nav>", b"<blockquote>", b"<code>", b"<q>", b"<sub>", b"<svg>",
)  # fmt: skip
FORMAT_WORDS = (
    b'"cells": [', b'"cell_type": "code"', b'"source": [', b'"\\ud800"', b"\\u0000", b"[section]", b"key: ",
    b"a = 1", b",", b"\t", b"class A:", b"    def f(self):", b'"""', b"func (r *R) M() {", b"\\section{",
    b"* ", b"== ", b"====\n", b"create table t (", b'resource "a" "b" {', b"all: x\n\t", b"FROM a AS b\n",
    b"<a><b>", b"#!/bin/sh\n", b"\\\n", b"case x in\n",
)  # fmt: skip
ZIP_WORDS = (
    b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"\x01\x00\x1c\x00",
    b"\x75\x70", b"\x0c\x00", b"\x0e\x00", b"\x63\x00", b"SKILL.md", b"../", b"\xff\xff\xff\xff",
)  # fmt: skip
OFFICE_WORDS = (
    b"<w:p>", b"<w:tbl>", b"<w:tr>", b"<w:tc>", b"<w:t>", b"w:val=", b"<!ENTITY a ", b"&a;", b"obj", b"endobj",
    b"stream", b"endstream", b"/FlateDecode", b"/ASCII85Decode", b"/LZWDecode", b"/RunLengthDecode", b"/Filter",
    b"/DecodeParms", b"/Predictor 12", b"/Columns 9", b"/Length 1", b"/Kids", b"/Parent 2 0 R", b"/Count",
    b"/ToUnicode", b"/Encrypt", b"/ObjStm", b"/XRef", b"/Prev 0", b"startxref", b"BT", b"ET", b"Tj", b"TJ",
    b"beginbfrange", b"<0000> <ffff> <0000>", b"/Differences", b"/W [0 9 9]", b"/Do",
)  # fmt: skip
UPLOAD_WORDS = (
    b"--X\r\n", b"\r\n--X--\r\n", b"Content-Disposition: form-data; ", b'name="file"', b'filename="',
    b"filename*=UTF-8''", b"Content-Type: ", b"Content-Transfer-Encoding: base64", b"charset=utf-16", b"\r\n\r\n",
    b"boundary=", b"multipart/form-data", b"application/x-www-form-urlencoded", b'name="_charset_"',
)  # fmt: skip
EXPORT_WORDS = _quoted(
    "record account session block end uri level vector passages content content_base64 original source "
    "created_at updated_at settings archives messages message_count state users role stale tags id",
    ": ",
)


def front_matters() -> Sequence[bytes]:
    """Return YAML and TOML, plain and with all that YAML can do."""
    texts = (
        SKILL,
        "---\r\ntitle: Über uns\r\n---\r\nText\r\n",
        "+++\ntitle = 'x'\ndate = 2026-03-01T12:00:00Z\ntags = ['a=b']\n[x.y]\nz = 1\n+++\ntext\n",
        "---\na: &a {b: 1, c: [1, 2]}\nd: {<<: *a, e: !!set {x, y}}\nf: !!binary aGk=\n---\n",
        "---\nname: 12\ndescription: |\n  two\n  lines\ntags: 'a=b, c=d'\nwhen: 2026-03-01 12:30:45.1 +8\n---\n",
        '---\n"a\\u00e9": !!int "0x1F"\nb: !!float ".5"\nc: !!bool yes\nd: !!null ~\ne: 1:30\n...\nx',
        "---\n? [a, b]\n: c\n? d\n---\ntext",
        "no front matter",
    )
    return [text.encode() for text in texts]


def addresses() -> Sequence[bytes]:
    """Return addresses of every scope, some at the limits."""
    texts = (
        "viking://", "viking://resources", "viking://resources/a/b.md", "viking://user/ann/memories/x.md",
        "viking://~/skills/提取/SKILL.md", "viking://agent/skills/a", "viking://resources/cafe\u0301/",
        "viking://resources/" + "a" * 2_029, "viking://~/" + "a" * 2_037, "viking://resources/a/.overview.md",
        "viking://resources/%41/%2e.", "http://x/../y",
    )  # fmt: skip
    return [text.encode() for text in texts]


def filters() -> Sequence[bytes]:
    """Return a filter for each operator."""
    whole: Sequence[object] = (
        {"op": "must", "field": "level", "conds": [0, 2]},
        {"op": "must_not", "field": "search_tags", "conds": ["team=ops"]},
        {"op": "must", "field": "uri", "conds": "viking://~/memories"},
        {"op": "time_range", "field": "updated_at", "gte": "7d", "lt": "2026-03-01T10:00:00+08:00"},
        {"op": "range_out", "field": "active_count", "gt": 1, "lte": 9},
        {"op": "prefix", "field": "uri", "prefix": "viking://resources/a"},
        {"op": "contains", "field": "name", "substring": "发布"},
        {
            "op": "and",
            "conds": [
                {"op": "or", "conds": [{"op": "must", "field": "name", "conds": ["a.md"]}, {}]},
                {"op": "not", "cond": {"op": "must", "field": "context_type", "conds": ["skill"]}},
                {"op": "not", "conds": [{"op": "range", "field": "created_at", "lt": "2h"}]},
            ],
        },
    )
    return [json.dumps(one, ensure_ascii=False).encode() for one in whole]


def questions() -> Sequence[bytes]:
    """Return bodies of a find."""
    found = [json.dumps(body, ensure_ascii=False).encode() for body in FIND.values()]
    return [*found, *(b'{"query": "rollback", "filter": %s}' % one for one in filters())]


def configs() -> Sequence[bytes]:
    """Return files and variables that are taken."""
    return [
        _EXAMPLE.read_bytes(),
        (
            b'{"embedding": {"dense": {"provider": "openai", "model": "m", "api_base": "http://127.0.0.1/v1",'
            b' "dimension": 8, "api_key": "${KEY}"}, "max_concurrent": 3}}\0KEY=x'
        ),
        b'{}\0CONTEXTFIND_SERVER__ALLOWED_PATHS=["/a", "/b"]\nCONTEXTFIND_PORT=80',
        b'{"rerank": {"provider": "volc", "ak": "a", "sk": "b", "timeout": 3.5}, "log": {"level": "debug"}}',
        b'{"agents": [], "server": {"workers": 2}, "retrieval": {"max_relations": null}}',
    ]


def markdowns() -> Sequence[bytes]:
    """Return texts with every kind of block."""
    return [
        SKILL.encode(),
        b"Title\n=====\n\ntext *a* `b`\n\n- a\n  - b\n\n1. x\n\n> q\n> > r\n\n```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "# 发布 {#a}\n\n<h1 align=x>A &amp; B</h1>\n\n    code\n\n[a]: http://x 'y'\n\n***\n\n## [Two](x)\n".encode(),
        b"<div>\n\n# in html\n\n</div>\n\n<!-- c -->\n",
    ]


def pages() -> Sequence[bytes]:
    """Return pages with every kind of element that is converted."""
    return [
        (
            b'<!DOCTYPE html><html><head><title>A &amp; b</title><meta name=description content="about"></head>'
            b"<body><nav>x</nav><h1>Head</h1><p>a <b>b</b> <a href='x'>c</a><br>d</p><ul><li>1<ol start='3'>"
            b"<li>2</ol></ul><table><tr><th>a<th>b</tr><tr><td colspan=2>c</td></tr></table><pre><code>x</code>"
            b"</pre><script>var a='</b>'</script><blockquote>q</blockquote><img src=a alt=b></body></html>"
        ),
        '<?xml version="1.0" encoding="gbk"?><p>发布</p>'.encode("gbk"),
        b"a < b and c > d",
        b"<p>&#x41;&#0;&#xD800;&nbsp;&unknown;</p><![CDATA[x]]><!-- - -->",
    ]


def of_formats() -> Mapping[str, Sequence[bytes]]:
    """Return good files by name; what is not here is as `a.txt`."""
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# A\n", "text"]},
            {"cell_type": "code", "source": "x = 1\n", "outputs": []},
        ],
        "nbformat": 4,
    }
    return {
        "a.txt": [
            b"Title\n=====\n\nSome text.\n\nMore.\n",
            "发布前先检查。".encode("gbk"),
            "発布".encode("utf-16"),
        ],
        "a.ipynb": [json.dumps(notebook).encode()],
        "a.json": [
            b'{\n "a": {"b": "\\u53d1\\u5e03"},\n "c": [1, 2]\n}',
            b'{"a":"%s"}' % (b"x " * 600),
        ],
        "a.jsonl": [b'{"a": 1}\n{"a": "\\ud83d\\ude80"}\n'],
        "a.yaml": [b"a: 1\nb:\n  - c\n"],
        "a.toml": [b"[a]\nb = 1\n[[c]]\nd = 2\n"],
        "a.csv": [b"a,b\n1,2\n" + b"3,4\n" * 200],
        "a.xml": [b"<a><b>1</b><c/></a>", b"<a>" + b"<b>1</b>" * 200 + b"</a>"],
        "a.tex": [b"\\section{A}\ntext\n\\subsection*{B}\nmore\n"],
        "a.org": [b"* A\ntext\n** B\nmore\n"],
        "a.adoc": [b"= A\n\ntext\n\n== B\n\nmore\n"],
        "a.py": [
            b'"""Doc."""\n\n@x\nclass A(B):\n    def f(self):\n        return """\n  a"""\n\nasync def g(): pass\n'
        ],
        "a.ts": [b"export const f = async (a: A): B => {\n}\nclass A {\n  m() {}\n}\n"],
        "a.go": [b"func (r *R) M(a int) error {\n}\n\ntype A struct {\n}\n"],
        "a.sh": [b"#!/bin/sh\nfunction a() {\n}\nb () { x; }\n"],
        "a.sql": [
            b"create table if not exists a.b (x int);\ncreate or replace view v as select 1;\n"
        ],
        "a.tf": [b'resource "a" "b" {\n}\nvariable "x" {}\n'],
        "Makefile": [b"all: a b\n\tcc $@\n\n%.o: %.c\n\tx\n"],
        "Dockerfile": [b"FROM a AS b\nRUN x \\\n  y\n"],
    }


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip that is the same every time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path), data, method)
    return buffer.getvalue()


def zips() -> Sequence[bytes]:
    """Return a zip for each method, names in Chinese, directories, a data descriptor, nothing."""
    files = {"a.md": b"# A\n\ntext\n", "d/": b"", "d/发布.md": b"x" * 3_000}
    streamed = io.BytesIO()
    with zipfile.ZipFile(_Unseekable(streamed), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", b"streamed")
        with archive.open("big.md", "w", force_zip64=True) as entry:
            entry.write(b"large")
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    return [*(zipped(files, one) for one in methods), streamed.getvalue(), zipped({})]


class _Unseekable(io.RawIOBase):
    """A pipe: sizes come behind the data."""

    def __init__(self, below: io.BytesIO) -> None:
        self._below = below

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return self._below.write(data)


def parcels() -> Sequence[bytes]:
    """Return uploads of skills and of documents."""
    skill = SKILL.encode()
    return [
        skill,
        zipped({"SKILL.md": skill, "scripts/run.py": b"print(1)\n"}),
        zipped(
            {"one/SKILL.md": skill, "二/skill.md": skill.replace(b"csv-report", "表格".encode())}
        ),
        zipped(
            {"docs/a.md": b"# A\n\ntext\n", "docs/b.html": b"<p>b</p>", ".gitignore": b"*.log\n"}
        ),
        b"# a document\n\nwith text\n",
    ]


def uploads() -> Sequence[bytes]:
    """Return a line with the content type, and a body of this type."""
    line = b"multipart/form-data; boundary=X\n"
    part = b'--X\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    typed = b'; filename="a.md"\r\nContent-Type: text/markdown; charset=utf-8'
    file = part % (b"file", typed, b"# A\n")
    odd = part % (b"file", b"; filename*=UTF-8''%E5%8F%91.md", b"\x00\xff" * 20)
    return [
        line + file + b"--X--\r\n",
        line + odd + part % (b"more", b"", b"text") + b"--X--\r\n",
        (
            b'multipart/form-data; boundary="a b"\n--a b\r\nContent-Disposition: form-data; name=file; '
            b"filename=..\\a.zip\r\n\r\nPK\r\n--a b--"
        ),
        line + b"preamble\r\n" + file + file + b"--X--\r\nepilogue",
        b"application/x-www-form-urlencoded\nfile=a&b=%00",
    ]
