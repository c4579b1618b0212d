"""Files: zips, exports, office documents."""

import asyncio
import io
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import docx

from contextfind.adapters.files.archive import ZipSource
from contextfind.domain.records import Level, context_type_of
from contextfind.domain.uri import Uri
from contextfind.ports import RecordDraft
from contextfind.transfer.entries import Entry, Header, Member, Tenant, copy_of
from contextfind.transfer.writer import ExportWriter
from tests.builders import NOON, make_passages, unit
from tests.fuzz import seeds
from tests.fuzz.containers import kneaded_export, kneaded_zip, mended
from tests.fuzz.target import Run, Target
from tests.fuzz.text_targets import document
from tests.property.test_export_lines import SESSION, spelled
from tests.unit.transfer.vaults import FINGERPRINT, memory_vault

_pdf, _word = document("a.pdf"), document("a.docx")


@contextmanager
def _zips() -> Iterator[Run]:
    """What is in a zip stays inside of it, and is as large as it said."""
    with tempfile.TemporaryDirectory() as place, asyncio.Runner() as runner:
        file = Path(place) / "x.zip"

        async def read() -> None:
            source = ZipSource(file)
            entries = await source.entries(lambda _: False)
            paths = [entry.path for entry in entries]
            assert len(set(paths)) == len(paths)
            for path in paths:
                assert not {"", ".", ".."} & set(path.split("/"))
                path.encode()
            for entry, body in zip(entries, await source.read(paths), strict=True):
                if isinstance(body, bytes):
                    assert len(body) == entry.size
                else:
                    str(body).encode()

        def run(data: bytes) -> None:
            file.write_bytes(data)
            runner.run(read())

        yield run


@contextmanager
def _exports() -> Iterator[Run]:
    """A file is brought into an empty store, or refused."""
    with asyncio.Runner() as runner:

        def run(data: bytes) -> None:
            runner.run(memory_vault().takes(data))

        yield run


def exports() -> Sequence[bytes]:
    """Return files plain and packed, with all that can stand in one."""
    return [_export(compressed=False), _export(compressed=True)]


def _export(*, compressed: bool) -> bytes:
    stream = io.BytesIO()
    with ExportWriter(stream, Header(NOON, FINGERPRINT, 8), compressed=compressed) as out:
        out.tenant(
            Tenant("acme", NOON, [Member("ann", "admin", NOON), Member("ben", "user", NOON)])
        )
        out.entry(_entry("resources/a.md", content=b"body", vectors=[unit(1), None]))
        out.entry(_entry("user/ann/memories/b.bin", content=b"\xff\x00"))
    if compressed:
        return stream.getvalue()
    *lines, block, end = stream.getvalue().splitlines(keepends=True)
    return mended(b"".join([*lines, spelled("session", SESSION), block, end]))


def _entry(path: str, content: bytes, vectors: Sequence[object] = ()) -> Entry:
    uri = Uri.parse(f"viking://{path}")
    passages = make_passages("one", "two", context="a > b")
    draft = RecordDraft(
        uri, Level.DETAIL, context_type_of(uri), "about", passages, tags=("a=b",), origin="i1"
    )
    return Entry(copy_of("acme", draft, NOON, active_count=2, vectors=vectors), content)  # type: ignore[arg-type]


def office(data: bytes) -> None:
    """A Word file is known by its first bytes; all else is taken for a PDF."""
    (_word if data.startswith(b"PK") else _pdf)(data)


def offices() -> Sequence[bytes]:
    """Return a Word file and PDFs with every usual filter."""
    written = docx.Document()
    written.core_properties.title = "Title"
    written.add_heading("Head", level=1)
    written.add_paragraph("text")
    written.add_table(rows=2, cols=2)
    out = io.BytesIO()
    written.save(out)
    drawn = b"BT /F1 12 Tf 50 700 Td (Some text) Tj [(a) -250 (b)] TJ ET"
    hexed = b"<" + drawn.hex().encode() + b">"
    return [
        out.getvalue(),
        _one_page(drawn, b""),
        _one_page(zlib.compress(drawn), b"/Filter /FlateDecode"),
        _one_page(
            zlib.compress(drawn),
            b"/Filter [/FlateDecode] /DecodeParms [<< /Predictor 1 /Columns 4 >>]",
        ),
        _one_page(hexed[1:], b"/Filter /ASCIIHexDecode"),
    ]


_PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
    b"/Resources << /Font << /F1 5 0 R >> >> >>"
)
_FONT = (
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding "
    b"<< /Differences [65 /A /B] >> >>"
)


def _one_page(drawn: bytes, how: bytes) -> bytes:
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        _PAGE,
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(drawn), how, drawn),
        _FONT,
        b"<< /Title (A title) >>",
    )
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 7\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % n for n in places)
    out += b"trailer\n<< /Size 7 /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start
    return bytes(out)


FILES = (
    Target("zip", seeds.zips, _zips, seeds.ZIP_WORDS, kneaded_zip),
    Target("export", exports, _exports, seeds.EXPORT_WORDS, kneaded_export),
    Target(
        "office",
        offices,
        lambda: nullcontext(office),
        seeds.OFFICE_WORDS,
        kneaded_zip,
        longest=60_000,
    ),
)
