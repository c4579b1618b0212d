"""Which reader a file gets, by its name."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from contextfind.domain.documents import Document
from contextfind.ingestion.parsing import definitions
from contextfind.ingestion.parsing.code import read_code, read_python
from contextfind.ingestion.parsing.data import (
    read_csv,
    read_json,
    read_json_lines,
    read_sections,
    read_yaml,
)
from contextfind.ingestion.parsing.decoding import binary_refusal, decode, usable
from contextfind.ingestion.parsing.markdown import read_markdown
from contextfind.ingestion.parsing.notebook import read_notebook
from contextfind.ingestion.parsing.plain import (
    read_asciidoc,
    read_log,
    read_org,
    read_plain,
    read_tex,
)

Content = TypeVar("Content", str, bytes)
TextReader = Callable[[str, str], Document]
ByteReader = Callable[[str, bytes], Document]


def _on_demand(module: str, name: str) -> Callable[[str, Content], Document]:
    """Return a reader whose module is loaded with the first file that needs it.

    The libraries behind these (PDF, Word, HTML) would add a third to the time a server needs to start.
    """

    def read(path: str, content: Content) -> Document:
        loaded = importlib.import_module(f"contextfind.ingestion.parsing.{module}")
        document: Document = getattr(loaded, name)(path, content)
        return document

    return read


def _code(find: definitions.Finder) -> TextReader:
    return lambda path, text: read_code(path, text, find)


def _table(rows: dict[str, TextReader]) -> dict[str, TextReader]:
    return {word: reader for words, reader in rows.items() for word in words.split()}


_BY_SUFFIX = _table(
    {
        "md markdown mdown mkd mdx qmd rmd mdc": read_markdown,
        "html htm xhtml": _on_demand("markup", "read_html"),
        "xml xsd xsl xslt rss atom svg plist csproj fsproj vbproj pom xaml wsdl": _on_demand(
            "markup", "read_xml"
        ),
        "json json5 jsonc webmanifest geojson har": read_json,
        "ipynb": read_notebook,
        "jsonl ndjson": read_json_lines,
        "yaml yml": read_yaml,
        "toml ini cfg conf properties editorconfig desktop service": read_sections,
        "csv tsv psv": read_csv,
        "log out": read_log,
        "adoc asciidoc asc": read_asciidoc,
        "org": read_org,
        "tex latex ltx sty": read_tex,
        "rst txt text": read_plain,
        "py pyi pyw": read_python,
        "js mjs cjs jsx ts mts cts tsx vue svelte astro": _code(definitions.braces),
        "c h cc cpp cxx hh hpp hxx ino m mm cu cuh java cs": _code(definitions.braces),
        "dart groovy gradle glsl hlsl d v sv": _code(definitions.braces),
        "go rs kt kts swift scala sc rb rake php pl pm lua": _code(definitions.by_keyword),
        "ex exs erl hrl jl nim zig cr f90 f95 vb bas pas r": _code(definitions.by_keyword),
        "sol move cairo proto graphql gql thrift prisma tcl": _code(definitions.by_keyword),
        "hs elm ml mli fs fsi fsx clj cljs edn lisp el scm rkt": _code(definitions.by_keyword),
        "sh bash zsh fish ksh bats ps1 psm1": _code(definitions.shell),
        "sql ddl psql plsql": _code(definitions.sql),
        "tf tfvars hcl": _code(definitions.hcl),
        "mk mak": _code(definitions.makefile),
        "css scss sass less bat cmd cmake nix dockerfile vim": _code(definitions.nothing),
        "asm s jinja j2 tmpl tpl hbs ejs mustache twig": _code(definitions.nothing),
    }
)
_BY_NAME = _table(
    {
        "makefile gnumakefile justfile": _code(definitions.makefile),
        "dockerfile containerfile": _code(definitions.dockerfile),
        "jenkinsfile": _code(definitions.braces),
        "rakefile gemfile vagrantfile podfile fastfile": _code(definitions.by_keyword),
        "cmakelists.txt requirements.txt procfile codeowners": _code(definitions.nothing),
    }
)
_BYTES: dict[str, ByteReader] = {
    "pdf": _on_demand("office", "read_pdf"),
    "docx": _on_demand("office", "read_word"),
}
# Refused by name, also where the bytes could be taken for some old encoding.
_BINARY = (
    " png jpg jpeg gif bmp ico webp tif tiff heic avif psd mp3 wav ogg flac m4a mp4 mov avi mkv webm"
    " zip gz tgz bz2 xz 7z rar tar zst jar war whl egg exe dll so dylib pyc pyo wasm ttf otf woff"
    " woff2 eot doc xls xlsx ppt pptx odt ods odp epub mobi sqlite sqlite3 parquet feather arrow npy"
    " npz pkl pickle pt pth onnx safetensors gguf iso dmg "
)


def read_document(path: str, data: bytes) -> Document:
    """Return a file as a document: title, text, sections in reading order.

    path: relative name; its last segment decides how `data` is read. A name nobody knows is read as
    plain text when its bytes are text.

    Raises:
        InvalidArgumentError: it cannot be read; the message names the file and `details["reason"]` is
            "binary" (nothing to read: callers may skip it quietly), "too_large", "encrypted" or
            "not_installed" (the message says how to install).

    """
    name = path.rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2] if "." in name.lstrip(".") else ""
    if suffix in _BYTES:
        return _tellable(_BYTES[suffix](path, data))
    if f" {suffix} " in _BINARY:
        raise binary_refusal(path, f".{suffix} files hold no text that is read here")
    reader = _BY_NAME.get(name) or _BY_SUFFIX.get(suffix) or read_plain
    if name.startswith("dockerfile."):
        reader = _BY_NAME["dockerfile"]
    return _tellable(reader(path, decode(path, data)))


def _tellable(document: Document) -> Document:
    """Return a document whose title and the like hold nothing that escapes of its format smuggled in."""
    told = (document.title, document.description, *document.tags)
    title, description, *tags = (usable(text) for text in told)
    return replace(document, title=title, description=description, tags=tuple(tags))
