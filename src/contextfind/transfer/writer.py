"""An export file being written, from a store or by any program.

A file of a program's own, in the order account, address, level (a directory before what is in it):

    with open("data.jsonl.zst", "wb") as stream, ExportWriter(stream, header) as out:
        out.tenant(Tenant("acme", now, [Member("ann", "admin", now)]))
        out.entry(Entry(copy_of("acme", draft, now, vectors=rows), content=body))

`header` names the embedder whose vectors are written (`Header(now, embedder.fingerprint,
embedder.dimension, counts={"records": 1_000_000})`). `draft` is what `ingestion.drafting.draft_file`
makes of a file and `draft_directory` or `placeholders` of a directory, or a `RecordDraft` with passages
of `domain.documents.make_passage`; directories that no entry describes are made by the import and
summarised by the server.
"""

import hashlib
from types import TracebackType
from typing import BinaryIO, Self

import zstandard

from contextfind.transfer.encoding import (
    block_line,
    end_line,
    entry_line,
    header_line,
    tenant_line,
)
from contextfind.transfer.entries import Entry, Header, SessionCopy, Tenant, Totals
from contextfind.transfer.session_lines import session_line

# Of one transaction of an import. Records a second of CPU: 7,300 in blocks of 100, 8,800 of 500,
# 10,900 of 2,000, 10,500 of 4,000.
BLOCK_RECORDS = 2_000
BLOCK_BYTES = 16 << 20  # a reader holds one block, parsed: about three times this
_COMPRESSION = 3  # base64 of floats shrinks to 74 % at every level; higher ones only cost


class ExportWriter:
    """Writes lines and closes a block where it is full; a context manager that writes the end.

    stream: stays open. compressed: zstd, a frame for each block; else plain lines. What is left by an
    exception has no end, and no reader takes it for whole. Blocks; not for an event loop.
    """

    def __init__(self, stream: BinaryIO, header: Header, *, compressed: bool = True) -> None:
        self._out: BinaryIO | zstandard.ZstdCompressionWriter = stream
        if compressed:
            packer = zstandard.ZstdCompressor(level=_COMPRESSION, write_checksum=True)
            self._out = packer.stream_writer(stream, closefd=False)
        self._block = hashlib.sha256()
        self._whole = hashlib.sha256()
        self._bytes = self._records = 0
        self._totals = Totals()
        self._line(header_line(header))

    @property
    def totals(self) -> Totals:
        """What was written so far."""
        return self._totals

    def tenant(self, tenant: Tenant) -> None:
        """Write an account; before the records of it."""
        self._line(tenant_line(tenant))
        self._totals += Totals(accounts=1)

    def entry(self, entry: Entry) -> None:
        """Write a record."""
        self._line(entry_line(entry))
        vectors = sum(vector is not None for vector in entry.copy.vectors)
        self._totals += Totals(0, 1, len(entry.copy.passages), vectors)
        self._records += 1
        self._close_if_full()

    def session(self, copy: SessionCopy) -> None:
        """Write a conversation; after all records."""
        self._line(session_line(copy))
        self._totals += Totals(sessions=1, messages=len(copy.messages))
        self._close_if_full()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            return
        if self._bytes:
            self._close_block()
        self._out.write(end_line(self._totals, self._whole.hexdigest()))
        self._end_frame()

    def _line(self, line: bytes) -> None:
        self._block.update(line)
        self._bytes += len(line)
        self._out.write(line)

    def _close_if_full(self) -> None:
        if self._records >= BLOCK_RECORDS or self._bytes >= BLOCK_BYTES:
            self._close_block()

    def _close_block(self) -> None:
        digest = self._block.hexdigest()
        self._out.write(block_line(self._records, digest))
        self._whole.update(digest.encode("ascii"))
        self._block = hashlib.sha256()
        self._bytes = self._records = 0
        self._end_frame()

    def _end_frame(self) -> None:
        if isinstance(self._out, zstandard.ZstdCompressionWriter):
            self._out.flush(zstandard.FLUSH_FRAME)
        else:
            self._out.flush()
