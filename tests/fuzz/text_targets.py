"""Texts: addresses, filters, front matters, settings, documents."""

import json
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from contextfind.config.load import load_settings
from contextfind.domain.errors import ContextFindError
from contextfind.domain.filter_text import parse_filter
from contextfind.domain.filters import matches
from contextfind.domain.uri import ROOT, Uri
from contextfind.ingestion.parsing.front_matter import front_block, front_matter
from contextfind.ingestion.parsing.reader import read_document
from contextfind.ingestion.passages import PassageRules, cut
from contextfind.ingestion.skill_text import head_of, text_of
from contextfind.ingestion.summarising import file_abstract
from tests.builders import NOON, make_record
from tests.fuzz import seeds
from tests.fuzz.target import Run, Target

_RECORD = make_record(tags=("lang=en", "team=ops"))
_RULES = PassageRules()


def _plain(run: Run) -> Callable[[], AbstractContextManager[Run]]:
    return lambda: nullcontext(run)


def _text(data: bytes) -> str:
    """Return any bytes as a text, surrogates too: a JSON text may bring them."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def uri(data: bytes) -> None:
    """An address that is taken comes back from its own text, its parts and its neighbours."""
    text = _text(data)
    for user in ("ann", None):
        try:
            found = Uri.parse(text, user)
        except ContextFindError as error:
            str(error).encode()
            continue
        assert found.text == unicodedata.normalize("NFC", found.text)
        assert found.is_under(ROOT)
        try:
            assert Uri.parse(found.text) == found == Uri.parse(found.text)
            assert found.parent in (None, ROOT) or found.parent.child(found.name) == found
            for above in found.ancestors()[:3]:  # all of a thousand would take most of the time
                assert found.is_under(Uri.parse(above.text))
        except ContextFindError as error:
            raise AssertionError(found.text) from error


def filter_json(data: bytes) -> None:
    """A filter that is read means something on a record, and the same when it is read again."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    found = parse_filter(value, "ann", NOON)
    assert isinstance(matches(found, _RECORD), bool)
    assert parse_filter(value, "ann", NOON) == found


def head(data: bytes) -> None:
    """A front matter is read or told to be unreadable; what is made of its parts can be read."""
    text = _text(data)
    block = front_block(text)
    assert 0 <= block.length <= len(text)
    front = front_matter(text)
    own = head_of(text)
    for told in (front.title, front.description, *front.tags, own.name, *own.tags):
        told.encode()
    parts = {str(name): value for name, value in block.values.items()}
    made = text_of({**parts, "content": text[block.length :]})
    assert "cannot be read" not in " ".join(head_of(made).errors)


def document(name: str) -> Run:
    """Return what reads a file of this name as an ingest does."""

    def run(data: bytes) -> None:
        found = read_document(name, data)
        assert cut(found, "place > of > it", _RULES)
        assert len(file_abstract(found, name)) <= 256
        for told in (found.text, found.title, found.description, *found.tags):
            told.encode()

    return run


_FORMATS = (
    "a.ipynb", "a.json", "a.jsonl", "a.yaml", "a.toml", "a.csv", "a.xml", "a.tex", "a.rst", "a.org",
    "a.adoc", "a.py", "a.ts", "a.go", "a.hs", "a.sh", "a.sql", "a.tf", "Makefile", "Dockerfile", "a.txt",
    "a.log",
)  # fmt: skip
_READERS = [document(name) for name in _FORMATS]


def any_format(data: bytes) -> None:
    """The first byte says which format the others are in."""
    if data:
        _READERS[data[0] % len(_READERS)](data[1:])


def _of_formats() -> Sequence[bytes]:
    known = seeds.of_formats()
    return [
        bytes([number]) + text
        for number, name in enumerate(_FORMATS)
        for text in known.get(name, known["a.txt"])
    ]


@contextmanager
def _settings() -> Iterator[Run]:
    """A file, and behind a NUL lines of the environment."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "ov.conf"

        def run(data: bytes) -> None:
            content, _, lines = data.partition(b"\0")
            file.write_bytes(content)
            pairs = (line.partition("=") for line in _text(lines).splitlines())
            loaded = load_settings(str(file), {name: value for name, _, value in pairs})
            assert loaded.source == str(file)

        yield run


# Two kB say all that eight do, several times as often.
TEXTS = (
    Target("front-matter", seeds.front_matters, _plain(head), seeds.FRONT_WORDS, longest=2_000),
    Target("filter", seeds.filters, _plain(filter_json), seeds.FILTER_WORDS),
    Target("uri", seeds.addresses, _plain(uri), seeds.URI_WORDS, longest=2_200),
    Target("ov.conf", seeds.configs, _settings, seeds.CONFIG_WORDS),
    Target(
        "markdown", seeds.markdowns, _plain(document("a.md")), seeds.MARKDOWN_WORDS, longest=2_000
    ),
    Target("html", seeds.pages, _plain(document("a.html")), seeds.HTML_WORDS, longest=2_000),
    Target("other formats", _of_formats, _plain(any_format), seeds.FORMAT_WORDS, longest=4_000),
)
