"""A file that was written is read back as it was, and a damaged one is never taken for whole."""

import io
import json
from collections.abc import Callable, Sequence
from datetime import timedelta

import numpy as np
import pytest
import zstandard

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.records import Level, Vector, context_type_of
from contextfind.domain.uri import Uri
from contextfind.ports import RecordDraft
from contextfind.transfer import reader
from contextfind.transfer.entries import Block, Entry, Header, Member, Tenant, Totals, copy_of
from contextfind.transfer.reader import ExportReader
from contextfind.transfer.writer import BLOCK_RECORDS, ExportWriter
from tests.builders import DIMENSION, NOON, make_passages, unit

HEADER = Header(NOON, "hash:words:8:r1", DIMENSION, counts={"records": 3})
ACME = Tenant("acme", NOON, [Member("ann", "admin", NOON), Member("ben", "user", NOON)])


def entry(
    path: str = "resources/a.md",
    *texts: str,
    vectors: Sequence[Vector | None] = (),
    content: bytes | None = None,
    original: bytes | None = None,
) -> Entry:
    uri = Uri.parse(f"viking://{path}")
    draft = RecordDraft(
        uri,
        Level.DETAIL,
        context_type_of(uri),
        "about it",
        make_passages(*texts, context="docs > a"),
        tags=("lang=en", "team=ops"),
        size=7,
        source="ab" * 32,
        origin="i1",
    )
    copy = copy_of(
        "acme",
        draft,
        NOON,
        updated_at=NOON + timedelta(microseconds=1),
        active_count=3,
        vectors=vectors,
    )
    return Entry(copy, content, original)


def written(*entries: Entry, header: Header = HEADER, compressed: bool = True) -> bytes:
    stream = io.BytesIO()
    with ExportWriter(stream, header, compressed=compressed) as out:
        out.tenant(ACME)
        for one in entries:
            out.entry(one)
    return stream.getvalue()


def blocks_of(data: bytes) -> list[Block]:
    return list(ExportReader(io.BytesIO(data)).blocks())


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


@pytest.mark.parametrize("compressed", [True, False])
def test_what_was_written_is_read_back(*, compressed: bool) -> None:
    full = entry("resources/a.md", "one", "zwei 文档 \0", vectors=[unit(1), None], content=b"body")
    bytes_alone = entry("resources/b.pdf", content=b"\xff\x00", original=b"%PDF \xff")
    empty = entry("user/ann/memories/c.md")
    reader = ExportReader(io.BytesIO(written(full, bytes_alone, empty, compressed=compressed)))
    assert reader.header == HEADER
    (block,) = reader.blocks()
    assert block.tenants == [ACME]
    assert block.totals == Totals(1, 3, 2, 1)
    assert [(one.content, one.original) for one in block.entries] == [
        (b"body", None),
        (b"\xff\x00", b"%PDF \xff"),
        (None, None),
    ]
    for given, came in zip([full, bytes_alone, empty], block.entries, strict=True):
        assert came.copy.record == given.copy.record
        assert tuple(came.copy.passages) == tuple(given.copy.passages)
    vectors = block.entries[0].copy.vectors
    assert vectors[0] is not None
    assert np.array_equal(vectors[0], unit(1))
    assert vectors[1] is None


def test_a_long_file_comes_in_blocks() -> None:
    data = written(*(entry(f"resources/{number}.md") for number in range(BLOCK_RECORDS + 1)))
    first, second = blocks_of(data)
    assert (len(first.entries), len(second.entries)) == (BLOCK_RECORDS, 1)
    assert (first.first, first.last) == (2, BLOCK_RECORDS + 3)  # header, account, records, block
    assert second.first == first.last + 1


def test_a_file_without_records_is_whole() -> None:
    assert written(header=Header(NOON))
    stream = io.BytesIO()
    with ExportWriter(stream, Header(NOON)):
        pass
    assert [block.entries for block in blocks_of(stream.getvalue())] == [[]]


@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_cut_anywhere_is_not_taken_for_whole(*, compressed: bool) -> None:
    data = written(entry("resources/a.md", "one", vectors=[unit(1)]), compressed=compressed)
    needed = len(data) - 8 * compressed  # behind the last line a frame has its own checksum
    for length in range(0, needed, 7):
        with pytest.raises(InvalidArgumentError):
            blocks_of(data[:length])


def test_any_changed_byte_is_noticed() -> None:
    data = written(entry("resources/a.md", "one", vectors=[unit(1)]), compressed=False)
    for place in range(len(data)):
        spoilt = bytearray(data)
        spoilt[place] ^= 1
        with pytest.raises(InvalidArgumentError):
            blocks_of(bytes(spoilt))


def test_damage_inside_zstd_is_noticed() -> None:
    data = bytearray(written(entry("resources/a.md", "one " * 50)))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(InvalidArgumentError, match=r"^line \d+: "):
        blocks_of(bytes(data))


def test_a_writer_that_failed_leaves_no_end() -> None:
    stream = io.BytesIO()

    def fail_halfway() -> None:
        with ExportWriter(stream, HEADER) as out:
            out.tenant(ACME)
            raise KeyError

    with pytest.raises(KeyError):
        fail_halfway()
    with pytest.raises(InvalidArgumentError):
        blocks_of(stream.getvalue())


def reframed(data: bytes, change: Callable[[list[bytes]], None]) -> bytes:
    lines = lines_of(data)
    change(lines)
    return b"".join(lines)


def with_record(**fields: object) -> bytes:
    """Return a file whose one record says this instead."""
    lines = lines_of(written(entry("resources/a.md", "one", vectors=[unit(1)]), compressed=False))
    told = json.loads(lines[2])
    told["record"] |= fields
    lines[2] = json.dumps(told).encode() + b"\n"
    return b"".join(lines)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"uri": "http://a"}, "must start with viking://"),
        ({"level": 3}, "record.level"),
        ({"created_at": "2026-03-01T12:00:00"}, "record.created_at"),
        ({"passages": [{"text": "one", "vector": "%%"}]}, "viking://resources/a.md"),
        ({"surprise": 1}, "record.surprise"),
        ({"account": ""}, "record.account"),
        ({"account": "a/b"}, "record.account"),
    ],
)
def test_a_wrong_record_is_named_by_its_line(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^line 3: ") as caught:
        blocks_of(with_record(**fields))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "vector", [unit(1, DIMENSION + 1), unit(1) * 2, unit(1) * np.float32("nan")]
)
def test_only_unit_vectors_of_the_promised_length_are_taken(vector: Vector) -> None:
    with pytest.raises(InvalidArgumentError, match="line 3: a vector is no unit vector of the 8"):
        blocks_of(written(entry("resources/a.md", "one", vectors=[vector])))


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"hello\n", b"{}\n", b'{"record":{}}\n', zstandard.compress(b"no\n")]
)
def test_another_kind_of_file_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError):
        ExportReader(io.BytesIO(data))


def test_nothing_may_follow_the_end() -> None:
    with pytest.raises(InvalidArgumentError, match="something follows the end"):
        blocks_of(written(compressed=False) + b"\n")


def test_a_newer_version_is_refused_with_the_next_step() -> None:
    newer = written(compressed=False).replace(b'"version":1', b'"version":2', 1)
    with pytest.raises(InvalidArgumentError, match="install the contextfind that wrote it"):
        ExportReader(io.BytesIO(newer))


def test_a_file_whose_blocks_are_missing_is_refused() -> None:
    data = written(
        *(entry(f"resources/{n}.md") for n in range(BLOCK_RECORDS + 1)), compressed=False
    )

    def drop_the_second_block(lines: list[bytes]) -> None:
        del lines[-3:-1]

    with pytest.raises(InvalidArgumentError, match="should hold 2001 records, 2000 came"):
        blocks_of(reframed(data, drop_the_second_block))


def test_a_line_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_LONGEST_LINE", 1_000_000)
    data = lines_of(written(compressed=False))[0] + b"{" * 2_000_000
    with pytest.raises(InvalidArgumentError, match="line 1: the line behind it has no end"):
        blocks_of(zstandard.compress(data))
