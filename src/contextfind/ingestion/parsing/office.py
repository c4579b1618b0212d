"""PDF and Word files, when the libraries of the extra `documents` are installed."""

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence

from contextfind.domain.documents import Document, Section
from contextfind.domain.errors import InvalidArgumentError
from contextfind.ingestion.parsing.decoding import MAX_BYTES, binary_refusal, usable
from contextfind.ingestion.parsing.outline import Heading, outline, paragraphs

try:
    import pypdf
    from pypdf.errors import PyPdfError

    PDF_INSTALLED = True
except ImportError:
    PDF_INSTALLED = False
try:
    import docx
    from docx.opc.exceptions import OpcError
    from docx.table import Table

    WORD_INSTALLED = True
except ImportError:
    WORD_INSTALLED = False

_MAX_FILE = 100_000_000  # bytes; pictures make these files large, not text
_MAX_PAGES = 5_000
_MAX_DRAWN = 100_000_000  # bytes of all pages' operators; a page of a book has 20 kB at most
_MAX_STEPS = (
    20_000_000  # operators; a page of a book has some thousand, and a million takes two seconds
)
_SHOWING = (b"Tj", b"TJ", b"'", b'"', b"Do")  # operators that show text, or a form that may
_MAX_UNPACKED = 400_000_000  # bytes in a .docx, which is a zip: more is an attack
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # all that the format allows
_HEADING_RANKS = {"Title": 1, **{f"Heading {rank}": rank + 1 for rank in range(1, 10)}}
# What the libraries raise on broken files, apart from errors of their own.
_BROKEN = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RuntimeError,  # of a part with a password; of what is nested too deeply or not known
    OSError,
    EOFError,
    SyntaxError,  # of the XML inside
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


def read_pdf(path: str, data: bytes, *, installed: bool = PDF_INSTALLED) -> Document:
    """Return the text of a PDF, a section per page (heading `page N`); scans have no text.

    Raises:
        InvalidArgumentError: broken, encrypted, too large, or pypdf is not installed.

    """
    _check(path, data, installed=installed)
    try:
        title, pages = _pdf_pages(path, data)
    except (*_BROKEN, PyPdfError) as error:
        raise _unreadable(path, "PDF", error) from error
    sections = (
        Section((f"page {number}",), paragraphs(page))
        for number, page in enumerate(pages, 1)
        if page.strip()
    )
    return Document(title, _joined(path, pages), tuple(sections), converted=True)


def read_word(path: str, data: bytes, *, installed: bool = WORD_INSTALLED) -> Document:
    """Return the text of a .docx with its headings; tables become Markdown tables.

    Raises:
        InvalidArgumentError: broken, too large, or python-docx is not installed.

    """
    _check(path, data, installed=installed)
    try:
        title, blocks, headings = _word_blocks(_honest(path, data))
    except (*_BROKEN, OpcError) as error:
        raise _unreadable(path, "Word file", error) from error
    text = _joined(path, blocks)
    sections = outline(range(len(blocks)), blocks, headings)
    return Document(
        title or (headings[0].title if headings else ""), text, sections, converted=True
    )


def _check(path: str, data: bytes, *, installed: bool) -> None:
    if not installed:
        raise InvalidArgumentError(
            f"{path!r} needs a library to be read: pip install 'contextfind[documents]'",
            {"path": path, "reason": "not_installed"},
        )
    if len(data) > _MAX_FILE:
        raise _too_large(path, f"has {len(data)} bytes; {_MAX_FILE} are read at most")


def _too_large(path: str, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{path!r} {what}", {"path": path, "reason": "too_large"})


def _unreadable(path: str, kind: str, error: Exception) -> InvalidArgumentError:
    return binary_refusal(path, f"no {kind} that can be opened ({type(error).__name__})")


def _joined(path: str, parts: Sequence[str]) -> str:
    text = "\n\n".join(part for part in parts if part.strip())
    if len(text) > MAX_BYTES:
        raise _too_large(path, f"holds {len(text)} characters; {MAX_BYTES} are read at most")
    return text


def _pdf_pages(path: str, data: bytes) -> tuple[str, list[str]]:
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise InvalidArgumentError(
            f"{path!r} is protected by a password", {"path": path, "reason": "encrypted"}
        )
    if len(reader.pages) > _MAX_PAGES:
        raise _too_large(path, f"has {len(reader.pages)} pages; {_MAX_PAGES} are read at most")
    title = reader.metadata.title if reader.metadata is not None else None
    work = _Work(path)
    pages = [work.text_of(page) for page in reader.pages]
    return usable(" ".join(str(title or "").split())), pages


class _Work:
    """What reading a PDF has cost so far.

    pypdf bounds a stream; but thousands of pages may share one, and a page may draw a form thousands
    of times.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._drawn = self._steps = self._characters = 0

    def text_of(self, page: "pypdf.PageObject") -> str:
        """Return the text of the next page.

        Raises:
            InvalidArgumentError: the file costs more than an honest one.

        """
        content = page.get_contents()
        drawn = b"" if content is None else content.get_data()
        self._drawn += len(drawn)
        if self._drawn > _MAX_DRAWN:
            raise _too_large(self._path, f"draws more than {_MAX_DRAWN} bytes")
        if not any(word in drawn for word in _SHOWING):
            return ""
        text = usable(page.extract_text(visitor_operand_before=self._step))
        self._characters += len(text)
        if self._characters > MAX_BYTES:
            raise _too_large(self._path, f"holds more than {MAX_BYTES} characters")
        return text

    def _step(self, _operator: object, operands: Sequence[object], *_: object) -> None:
        """Count an operator; inside a form the library goes on, to stumble over the next one."""
        self._steps += 1 + sum(len(one) for one in operands if isinstance(one, list))
        if self._steps > _MAX_STEPS:
            raise _too_large(self._path, f"draws in more than {_MAX_STEPS} steps")


def _honest(path: str, data: bytes) -> io.BytesIO:
    """Return a Word file whose parts are as large as it says, and not packed.

    The library would unpack whatever comes out of a part, and cut it to its size then.
    """
    honest = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(honest, "w") as stored:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > _MAX_UNPACKED:
            raise _too_large(path, f"unpacks to {size} bytes; {_MAX_UNPACKED} are read at most")
        for name, entry in {entry.filename: entry for entry in archive.infolist()}.items():
            if entry.compress_type not in _PACKED:
                raise zipfile.BadZipFile("a part is packed in a way that Word does not know")
            with archive.open(entry) as part:
                stored.writestr(name, part.read(entry.file_size + 1))
    return honest


def _word_blocks(file: io.BytesIO) -> tuple[str, list[str], list[Heading]]:
    document = docx.Document(file)
    blocks: list[str] = []
    headings: list[Heading] = []
    for part in document.iter_inner_content():
        if isinstance(part, Table):
            blocks.append(usable(_table(part)))
            continue
        text = usable(part.text).strip()
        rank = _HEADING_RANKS.get(part.style.name if part.style is not None else "")
        if rank is not None and text:
            headings.append(Heading(len(blocks), len(blocks) + 1, rank, text))
        if text:
            blocks.append(text)
    return usable(document.core_properties.title or ""), blocks, headings


def _table(table: "Table") -> str:
    rows = [[" ".join(cell.text.split()) for cell in row.cells] for row in table.rows]
    if not rows:
        return ""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])
