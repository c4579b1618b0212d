import io
import struct
import tracemalloc
import zipfile
import zlib

import docx
import pypdf
import pytest

from contextfind.domain.errors import InvalidArgumentError
from contextfind.ingestion.parsing import office
from contextfind.ingestion.parsing.office import read_pdf, read_word
from contextfind.ingestion.parsing.reader import read_document


def pdf(*pages: str) -> bytes:
    """Return a PDF whose text is in a font without Latin letters, as Chinese ones are."""
    letters = sorted(set("".join(pages)))
    codes = {letter: f"{index + 1:04x}" for index, letter in enumerate(letters)}
    mapping = "\n".join(f"<{codes[x]}> <{x.encode('utf-16-be').hex()}>" for x in letters)
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def\n"
        f"1 begincodespacerange <0000> <ffff> endcodespacerange\n{len(letters)} beginbfchar\n"
        f"{mapping}\nendbfchar endcmap end end"
    )
    kids = " ".join(f"{10 + 2 * index} 0 R" for index in range(len(pages)))
    objects = {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        3: "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H "
        "/DescendantFonts [4 0 R] /ToUnicode 5 0 R >>",
        4: "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /CIDSystemInfo "
        "<< /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 1000 >>",
        5: f"<< /Length {len(cmap)} >>\nstream\n{cmap}\nendstream",
        6: "<< /Title (Release Handbook) >>",
    }
    for index, page in enumerate(pages):
        drawn = f"BT /F1 12 Tf 50 700 Td <{''.join(codes[x] for x in page)}> Tj ET"
        objects[10 + 2 * index] = (
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {11 + 2 * index} 0 R >>"
        )
        objects[11 + 2 * index] = f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream"
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number, body in objects.items():
        offsets[number] = len(out)
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    start = len(out)
    size = max(objects) + 1
    rows = "".join(
        f"{offsets[n]:010} 00000 n \n" if n in offsets else "0000000000 65535 f \n"
        for n in range(size)
    )
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return bytes(out + f"xref\n0 {size}\n{rows}{trailer}".encode())


def word() -> bytes:
    document = docx.Document()
    document.core_properties.title = ""
    document.add_heading("发布手册", level=1)
    document.add_paragraph("发布前先检查健康状态。")
    document.add_heading("回滚步骤", level=2)
    document.add_paragraph("Stop the rollout.")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["step", "who", "undo", "ops"], strict=True):
        cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_a_chinese_pdf_is_read_page_by_page() -> None:
    document = read_document("手册.pdf", pdf("发布前先检查", "回滚步骤"))
    assert [section.headings for section in document.sections] == [("page 1",), ("page 2",)]
    assert document.sections[1].blocks == ("回滚步骤",)
    assert document.text == "发布前先检查\n\n回滚步骤"
    assert document.title == "Release Handbook"
    assert document.converted


@pytest.mark.parametrize(
    ("limit", "most", "told"),
    [
        ("_MAX_STEPS", 10, "draws in more than 10 steps"),
        ("_MAX_DRAWN", 150, "draws more than 150 bytes"),
        ("MAX_BYTES", 16, "holds more than 16 characters"),
    ],
)
def test_many_pages_together_cost_no_more_than_a_large_file(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, told: str
) -> None:
    few, many = pdf("many words", "more"), pdf("many words", "more", "more")
    monkeypatch.setattr(office, limit, most)
    assert read_document("a.pdf", few).text == "many words\n\nmore"
    with pytest.raises(InvalidArgumentError, match=told) as caught:
        read_document("a.pdf", many)
    assert caught.value.details["reason"] == "too_large"


def test_a_pdf_of_pictures_is_a_document_without_text() -> None:
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    out = io.BytesIO()
    writer.write(out)
    document = read_document("scan.pdf", out.getvalue())
    assert (document.text, document.sections) == ("", ())


def test_a_word_file_keeps_headings_and_tables() -> None:
    document = read_document("a.docx", word())
    assert document.title == "发布手册"
    assert [section.headings for section in document.sections] == [
        ("发布手册",),
        ("发布手册", "回滚步骤"),
    ]
    assert document.sections[1].blocks[-1] == "| step | who |\n| --- | --- |\n| undo | ops |"
    assert document.converted


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.pdf", b""),
        ("a.pdf", b"no pdf at all"),
        ("a.pdf", pdf("x")[:300]),
        ("a.docx", b""),
        ("a.docx", b"PK\x03\x04 broken"),
        ("a.docx", word()[:2_000]),
    ],
)
def test_broken_files_are_refused_by_name(name: str, data: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match=name) as caught:
        read_document(name, data)
    assert caught.value.details["reason"] == "binary"


def repacked(method: int, name: str = "", content: bytes = b"") -> bytes:
    """Return the Word file packed in another way, with another content of one part."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word())) as old, zipfile.ZipFile(out, "w", method) as new:
        for part in old.namelist():
            new.writestr(part, content if part == name else old.read(part))
    return out.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_word_file_packed_as_word_does_not_is_refused(method: int) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a\.docx"):
        read_document("a.docx", repacked(method))


def test_a_word_file_with_a_password_on_a_part_is_refused() -> None:
    data = bytearray(repacked(zipfile.ZIP_DEFLATED))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InvalidArgumentError, match=r"a\.docx"):
        read_document("a.docx", bytes(data))


def test_what_a_lying_part_of_a_word_file_holds_is_not_unpacked() -> None:
    part, content = "word/styles.xml", bytes(50_000_000)
    data = bytearray(repacked(zipfile.ZIP_DEFLATED, part, content))
    central = data.rindex(b"PK\x01\x02", 0, data.rindex(part.encode()))
    struct.pack_into("<I", data, central + 16, zlib.crc32(content[:10]))
    struct.pack_into("<I", data, central + 24, 10)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidArgumentError, match=r"a\.docx"):
            read_document("a.docx", bytes(data))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


def test_a_locked_pdf_is_refused() -> None:
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    with pytest.raises(InvalidArgumentError, match=r"a\.pdf.*password") as caught:
        read_document("a.pdf", out.getvalue())
    assert caught.value.details["reason"] == "encrypted"


def test_without_the_libraries_the_message_says_what_to_install() -> None:
    for read in (read_pdf, read_word):
        with pytest.raises(InvalidArgumentError, match=r"pip install 'contextfind\[documents\]'"):
            read("a.pdf", b"", installed=False)


def test_other_office_and_picture_files_are_binaries() -> None:
    for name in ("a.xlsx", "a.PNG", "deep/a.zip"):
        with pytest.raises(InvalidArgumentError) as caught:
            read_document(name, b"text")
        assert caught.value.details == {"path": name, "reason": "binary"}
