"""The lines of an export: each a JSON object with one key that says what it is."""

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

import numpy as np
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from contextfind.domain.documents import make_passage
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.records import (
    ContextType,
    Level,
    Record,
    RecordId,
    Vector,
)
from contextfind.domain.uri import Uri
from contextfind.ports import RecordCopy
from contextfind.transfer.entries import (
    FORMAT,
    VERSION,
    Entry,
    Header,
    Member,
    Tenant,
    Totals,
)

Name = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]
_EMPTY: tuple[object, ...] = ("", (), [])
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EmbedderLine(_Line):
    """Which embedder made the vectors."""

    fingerprint: Name
    dimension: Annotated[int, Field(gt=0)]


class HeaderLine(_Line):
    """Key `contextfind-export`: format version and what is known before the records come."""

    version: int
    created_at: AwareDatetime
    embedder: EmbedderLine | None = None
    account: str = ""
    counts: Mapping[str, Count] = Field(default_factory=dict)


class UserLine(_Line):
    """A user inside an account's line."""

    id: Name
    role: Literal["admin", "user"]
    created_at: AwareDatetime


class AccountLine(_Line):
    """Key `account`."""

    id: Name
    created_at: AwareDatetime
    users: tuple[UserLine, ...] = ()


class PassageLine(_Line):
    """A passage inside a record's line; vector: base64 of little-endian float32."""

    text: str
    heading: str = ""
    context: str = ""
    vector: str | None = None


class RecordLine(_Line):
    """Key `record`; `original` is base64, `content` text, `content_base64` a body that is no UTF-8."""

    account: Name
    uri: Name
    level: Literal[0, 1, 2]
    context_type: ContextType
    abstract: str = ""
    created_at: AwareDatetime
    updated_at: AwareDatetime
    tags: tuple[str, ...] = ()
    active_count: Count = 0
    size: Count = 0
    source: str = ""
    origin: str = ""
    stale: bool = False
    passages: tuple[PassageLine, ...] = ()
    content: str | None = None
    content_base64: str | None = None
    original: str | None = None


class BlockLine(_Line):
    """Key `block`: closes the lines since the last one; sha256 of their bytes, line ends included."""

    records: Count
    sha256: Digest


class EndLine(_Line):
    """Key `end`: the last line; sha256 of the digests of all blocks, as written, in order."""

    accounts: Count
    records: Count
    passages: Count
    vectors: Count
    sha256: Digest


class Line(_Line):
    """Any line after the header; exactly one of these."""

    record: RecordLine | None = None
    account: AccountLine | None = None
    block: BlockLine | None = None
    end: EndLine | None = None


def header_line(header: Header) -> bytes:
    """Return the first line of a file."""
    fields: dict[str, object] = {"version": VERSION, "created_at": _said(header.created_at)}
    if header.dimension:
        fields["embedder"] = {"fingerprint": header.fingerprint, "dimension": header.dimension}
    if header.account:
        fields["account"] = header.account
    if header.counts:
        fields["counts"] = dict(header.counts)
    return _encoded(FORMAT, fields)


def tenant_line(tenant: Tenant) -> bytes:
    """Return the line of an account."""
    users = [
        {"id": one.id, "role": one.role, "created_at": _said(one.created_at)}
        for one in tenant.users
    ]
    fields = {"id": tenant.id, "created_at": _said(tenant.created_at), "users": users}
    return _encoded("account", fields)


def entry_line(entry: Entry) -> bytes:
    """Return the line of a record; equal records give equal bytes."""
    record = entry.copy.record
    fields: dict[str, object] = {
        "account": record.account,
        "uri": record.uri.text,
        "level": record.level.value,
        "context_type": record.context_type.value,
        "abstract": record.abstract,
        "created_at": _said(record.created_at),
        "updated_at": _said(record.updated_at),
        "tags": record.tags,
        "active_count": record.active_count,
        "size": record.size,
        "source": record.source,
        "origin": record.origin,
        "stale": entry.copy.stale,
        "passages": _passages_said(entry.copy),
        **_bytes_said(entry),
    }
    return _encoded("record", {name: value for name, value in fields.items() if _says(value)})


def block_line(records: int, digest: str) -> bytes:
    """Return the line that closes a block."""
    return _encoded("block", {"records": records, "sha256": digest})


def end_line(totals: Totals, digest: str) -> bytes:
    """Return the last line of a file."""
    fields = {
        "accounts": totals.accounts,
        "records": totals.records,
        "passages": totals.passages,
        "vectors": totals.vectors,
        "sha256": digest,
    }
    return _encoded("end", fields)


def read_header(line: bytes) -> Header:
    """Undo `header_line`.

    Raises:
        InvalidArgumentError: no export, or one of a newer version.

    """
    try:
        found = json.loads(line)
    except ValueError:
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


def read_line(line: bytes, number: int) -> RecordLine | AccountLine | BlockLine | EndLine:
    """Return what a line after the header says.

    Raises:
        InvalidArgumentError: it says nothing that is known; the message names the line.

    """
    try:
        told = Line.model_validate_json(line)
    except ValidationError as error:
        raise _damaged(number, error) from error
    parts = [part for part in (told.record, told.account, told.block, told.end) if part is not None]
    if len(parts) != 1:
        raise _wrong(number, "expected one of record, account, block, end")
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


def _encoded(kind: str, fields: Mapping[str, object]) -> bytes:
    text = json.dumps({kind: fields}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _said(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()


def _says(value: object) -> bool:
    """Whether a field is written at all; what is left out is read as empty or false."""
    return value is not None and value is not False and value not in _EMPTY


def _passages_said(copy: RecordCopy) -> list[dict[str, str]]:
    said: list[dict[str, str]] = []
    for passage, vector in zip(copy.passages, copy.vectors, strict=True):
        fields = {"text": passage.text}
        if passage.heading:
            fields["heading"] = passage.heading
        if passage.context:
            fields["context"] = passage.context
        if vector is not None:
            fields["vector"] = _base64(np.asarray(vector, dtype="<f4").tobytes())
        said.append(fields)
    return said


def _bytes_said(entry: Entry) -> dict[str, object]:
    said: dict[str, object] = {}
    if entry.content is not None:
        try:
            said["content"] = entry.content.decode()
        except UnicodeDecodeError:
            said["content_base64"] = _base64(entry.content)
    if entry.original is not None:
        said["original"] = _base64(entry.original)
    return said


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode("ascii")


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
