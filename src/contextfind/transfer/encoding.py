"""From values to the lines of an export; equal values give equal bytes."""

import json
from binascii import b2a_base64
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from contextfind.ports import RecordCopy
from contextfind.transfer.entries import FORMAT, VERSION, Entry, Header, Tenant, Totals

_EMPTY: tuple[object, ...] = ("", (), [])


def header_line(header: Header) -> bytes:
    """Return the first line of a file."""
    fields: dict[str, object] = {"version": VERSION, "created_at": said(header.created_at)}
    if header.dimension:
        fields["embedder"] = {"fingerprint": header.fingerprint, "dimension": header.dimension}
    if header.account:
        fields["account"] = header.account
    if header.counts:
        fields["counts"] = dict(header.counts)
    return encoded(FORMAT, fields)


def tenant_line(tenant: Tenant) -> bytes:
    """Return the line of an account."""
    users = [
        {"id": one.id, "role": one.role, "created_at": said(one.created_at)} for one in tenant.users
    ]
    fields = {"id": tenant.id, "created_at": said(tenant.created_at), "users": users}
    return encoded("account", fields)


def entry_line(entry: Entry) -> bytes:
    """Return the line of a record; equal records give equal bytes."""
    record = entry.copy.record
    fields: dict[str, object] = {
        "account": record.account,
        "uri": record.uri.text,
        "level": record.level.value,
        "context_type": record.context_type.value,
        "abstract": record.abstract,
        "created_at": said(record.created_at),
        "updated_at": said(record.updated_at),
        "tags": record.tags,
        "active_count": record.active_count,
        "size": record.size,
        "source": record.source,
        "origin": record.origin,
        "stale": entry.copy.stale,
        "passages": _passages_said(entry.copy),
        **_bytes_said(entry),
    }
    return encoded("record", {name: value for name, value in fields.items() if _says(value)})


def block_line(records: int, digest: str) -> bytes:
    """Return the line that closes a block."""
    return encoded("block", {"records": records, "sha256": digest})


def end_line(totals: Totals, digest: str) -> bytes:
    """Return the last line of a file."""
    fields = {
        "accounts": totals.accounts,
        "records": totals.records,
        "passages": totals.passages,
        "vectors": totals.vectors,
        "sessions": totals.sessions,
        "messages": totals.messages,
        "sha256": digest,
    }
    return encoded("end", fields)


def encoded(kind: str, fields: Mapping[str, object]) -> bytes:
    """Return a line of this kind."""
    text = json.dumps({kind: fields}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def said(moment: datetime) -> str:
    """Return a time as lines spell it, in UTC."""
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
