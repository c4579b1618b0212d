"""An export file being read: block by block, each proven whole before anybody sees it."""

import hashlib
import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import zstandard

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.records import Vector
from contextfind.transfer.decoding import entry_of, read_header, read_line, tenant_of
from contextfind.transfer.entries import Block, Entry, Header, SessionCopy, Tenant, Totals
from contextfind.transfer.session_lines import session_of
from contextfind.transfer.shapes import (
    AccountLine,
    BlockLine,
    EndLine,
    RecordLine,
    SessionLine,
)

_MAGIC = b"\x28\xb5\x2f\xfd"  # of a zstd frame
_MOST_LINES = 100_000  # of a block: a file without block lines must not fill the memory
# Bytes: the largest file that is kept (100 MB, base64), its text and its vectors are below 350 MiB;
# without a bound some kB of zstd would fill the memory.
_LONGEST_LINE = 512 << 20
_BUFFER = 1 << 20
_UNIT_SLACK = 1e-3  # of a length; float32 rows of any dimension are within 1e-5


class ExportReader:
    """Reads what `ExportWriter` wrote, zstd or plain; blocks, not for an event loop.

    stream: from its beginning; stays open.

    Raises:
        InvalidArgumentError: no export, or one of a newer version.

    """

    def __init__(self, stream: BinaryIO) -> None:
        source = io.BufferedReader(_Peeking(stream), _BUFFER)
        packed = source.peek(len(_MAGIC))[: len(_MAGIC)] == _MAGIC
        self._lines: io.BufferedIOBase = source
        if packed:
            unpacker = zstandard.ZstdDecompressor()
            plain = unpacker.stream_reader(source, read_across_frames=True, closefd=False)
            self._lines = io.BufferedReader(plain, _BUFFER)
        self._number = 0
        first = self._line()
        self.header: Header = read_header(first)
        self._digest = hashlib.sha256(first)
        self._whole = hashlib.sha256()

    def blocks(self) -> Iterator[Block]:
        """Give every block in order, and end only where the file says that it ends.

        Raises:
            InvalidArgumentError: a line is damaged, or the file is cut off; the message names the line.
                What was given before is whole.

        """
        seen = Totals()
        while True:
            block = _Unproven(self._number + 1)
            end = self._fill(block)
            if end is not None:
                self._check_end(end, seen, block)
                return
            whole = block.proven(self._number, self.header.dimension)
            seen += whole.totals
            yield whole

    def _fill(self, block: "_Unproven") -> EndLine | None:
        """Read lines into a block until one closes it, or the file."""
        while True:
            line = self._line()
            told = read_line(line, self._number)
            match told:
                case RecordLine():
                    block.entries.append(entry_of(told, self._number))
                    block.numbers.append(self._number)
                case AccountLine():
                    block.tenants.append(tenant_of(told))
                case SessionLine():
                    block.sessions.append(session_of(told))
                case BlockLine():
                    self._check_block(told, block)
                    return None
                case EndLine():
                    return told
            self._digest.update(line)
            if self._number - block.first > _MOST_LINES:
                raise self._damaged("no block was closed for too many lines")

    def _check_block(self, told: BlockLine, block: "_Unproven") -> None:
        if told.sha256 != self._digest.hexdigest() or told.records != len(block.entries):
            raise InvalidArgumentError(
                f"lines {block.first} to {self._number} are damaged: their digest is another one",
                {"line": block.first},
            )
        self._whole.update(told.sha256.encode("ascii"))
        self._digest = hashlib.sha256()

    def _check_end(self, told: EndLine, seen: Totals, block: "_Unproven") -> None:
        said = Totals(
            told.accounts,
            told.records,
            told.passages,
            told.vectors,
            told.sessions,
            told.messages,
        )
        if block.entries or block.tenants or block.sessions:
            raise self._damaged("the lines before the end are in no block")
        if said != seen or told.sha256 != self._whole.hexdigest():
            raise self._damaged(f"the file should hold {said.records} records, {seen.records} came")
        if self._lines.read(1):
            raise self._damaged("something follows the end of the export")

    def _line(self) -> bytes:
        try:
            line = self._lines.readline(_LONGEST_LINE)
        except zstandard.ZstdError as error:
            raise self._damaged(f"damaged behind it: {error}") from error
        if len(line) == _LONGEST_LINE:
            raise self._damaged("the line behind it has no end")
        if not line.endswith(b"\n"):
            raise self._damaged("the file is cut off behind it")
        self._number += 1
        return line

    def _damaged(self, reason: str) -> InvalidArgumentError:
        return InvalidArgumentError(f"line {self._number}: {reason}", {"line": self._number})


class _Unproven:
    """The lines of a block that is still open."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.tenants: list[Tenant] = []
        self.entries: list[Entry] = []
        self.numbers: list[int] = []
        self.sessions: list[SessionCopy] = []

    def proven(self, last: int, dimension: int) -> Block:
        """Return the block, its vectors looked at.

        Raises:
            InvalidArgumentError: a vector has another length than the header says, or none at all.

        """
        vectors = 0
        for entry, number in zip(self.entries, self.numbers, strict=True):
            rows = [row for row in entry.copy.vectors if row is not None]
            vectors += len(rows)
            _check_vectors(rows, dimension, number)
        passages = sum(len(entry.copy.passages) for entry in self.entries)
        messages = sum(len(copy.messages) for copy in self.sessions)
        sizes = (len(self.tenants), len(self.entries), passages, vectors)
        totals = Totals(*sizes, len(self.sessions), messages)
        return Block(self.first, last, self.tenants, self.entries, self.sessions, totals)


def _check_vectors(rows: Sequence[Vector], dimension: int, number: int) -> None:
    for row in rows:
        length = float(row @ row)
        if row.shape != (dimension,) or not abs(length - 1) <= _UNIT_SLACK:  # also where it is NaN
            raise InvalidArgumentError(
                f"line {number}: a vector is no unit vector of the {dimension} numbers that the "
                "first line promises",
                {"line": number},
            )


class _Peeking(io.RawIOBase):
    """Any binary stream as a raw one, which a buffer can stand on; closing it closes nothing."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        """Fill the buffer as far as the stream gives something."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
