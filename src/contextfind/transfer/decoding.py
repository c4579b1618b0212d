"""From the lines of an export to values; what is wrong is named by its line."""

import json
from binascii import a2b_base64

import numpy as np
from pydantic import ValidationError

from contextfind.domain.documents import make_passage
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.records import Level, Record, RecordId, Vector
from contextfind.domain.uri import Uri
from contextfind.ports import RecordCopy
from contextfind.transfer.entries import FORMAT, VERSION, Entry, Header, Member, Tenant
from contextfind.transfer.shapes import (
    AccountLine,
    BlockLine,
    EndLine,
    HeaderLine,
    Line,
    RecordLine,
    SessionLine,
)

AnyLine = RecordLine | AccountLine | SessionLine | BlockLine | EndLine


def read_header(line: bytes) -> Header:
    """Undo `header_line`.

    Raises:
        InvalidArgumentError: no export, or one of a newer version.

    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or list(found) != [FORMAT]:
        raise InvalidArgumentError(
            f"this is no contextfind export: its first line has no {FORMAT!r}", {"line": 1}
        )
    version = found[FORMAT].get("version") if isinstance(found[FORMAT], dict) else None
    if isinstance(version, int) and version > VERSION:
        raise InvalidArgumentError(
            f"the export has version {version}, this contextfind reads up to {VERSION}; "
            "install the contextfind that wrote it",
            {"version": version, "known": VERSION},
        )
    try:
        told = HeaderLine.model_validate(found[FORMAT])
    except ValidationError as error:
        raise _damaged(1, error) from error
    made_by = told.embedder
    return Header(
        created_at=told.created_at,
        fingerprint="" if made_by is None else made_by.fingerprint,
        dimension=0 if made_by is None else made_by.dimension,
        account=told.account,
        counts=told.counts,
    )


def read_line(line: bytes, number: int) -> AnyLine:
    """Return what a line after the header says.

    Raises:
        InvalidArgumentError: it says nothing that is known; the message names the line.

    """
    try:
        told = Line.model_validate_json(line)
    except ValidationError as error:
        raise _damaged(number, error) from error
    kinds = (told.record, told.account, told.session, told.block, told.end)
    parts = [part for part in kinds if part is not None]
    if len(parts) != 1:
        raise _wrong(number, "expected one of record, account, session, block, end")
    return parts[0]


def tenant_of(line: AccountLine) -> Tenant:
    """Undo `tenant_line`."""
    users = [Member(one.id, one.role, one.created_at) for one in line.users]
    return Tenant(line.id, line.created_at, users)


def entry_of(line: RecordLine, number: int) -> Entry:
    """Undo `entry_line`.

    `Record.content` stays empty: it is the digest that a blob store gives for the bytes.

    Raises:
        InvalidArgumentError: an address or base64 is wrong; the message names the line.

    """
    try:
        uri = Uri.parse(line.uri)
        vectors = [_vector(passage.vector) for passage in line.passages]
        content = _content(line)
        original = None if line.original is None else a2b_base64(line.original, strict_mode=True)
    except (InvalidArgumentError, ValueError) as error:
        raise _wrong(number, f"{line.uri!r}: {error}") from error
    record = Record(
        id=RecordId(0),
        account=line.account,
        owner=uri.owner,
        uri=uri,
        level=Level(line.level),
        context_type=line.context_type,
        abstract=line.abstract,
        tags=line.tags,
        created_at=line.created_at,
        updated_at=line.updated_at,
        source=line.source,
        size=line.size,
        active_count=line.active_count,
        origin=line.origin,
    )
    passages = [
        make_passage(ordinal, one.heading, one.text, one.context)
        for ordinal, one in enumerate(line.passages)
    ]
    return Entry(RecordCopy(record, passages, vectors, line.stale), content, original)


def _content(line: RecordLine) -> bytes | None:
    if line.content_base64 is not None:
        return a2b_base64(line.content_base64, strict_mode=True)
    return None if line.content is None else line.content.encode("utf-8", "replace")


def _vector(text: str | None) -> Vector | None:
    if text is None:
        return None
    return np.frombuffer(a2b_base64(text, strict_mode=True), dtype="<f4")


def _damaged(number: int, error: ValidationError) -> InvalidArgumentError:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return _wrong(number, f"{place}: {first['msg']}" if place else first["msg"])


def _wrong(number: int, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"line {number}: {reason}", {"line": number})
