"""Whatever stands in a file: it is read, or refused in our own words, and never half believed."""

import hashlib
import io
import json
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.errors import InvalidArgumentError
from contextfind.transfer.entries import Block, Header
from contextfind.transfer.reader import ExportReader
from contextfind.transfer.writer import ExportWriter
from tests.builders import NOON

RECORD: Mapping[str, object] = {
    "account": "acme",
    "uri": "viking://resources/a.md",
    "level": 2,
    "context_type": "resource",
    "abstract": "about it",
    "created_at": "2026-03-01T12:00:00+00:00",
    "updated_at": "2026-03-01T12:00:00+00:00",
    "tags": ["lang=en"],
    "active_count": 1,
    "size": 3,
    "source": "",
    "origin": "",
    "stale": False,
    "passages": [{"text": "one", "heading": "", "context": "", "vector": "AACAPwAAAAA="}],
    "content": "one",
    "original": "b25l",
}
SESSION: Mapping[str, object] = {
    "account": "acme",
    "user": "ann",
    "id": "tea",
    "created_at": "2026-03-01T12:00:00+00:00",
    "updated_at": "2026-03-01T12:00:00+00:00",
    "settings": {"a": 1},
    "memories_extracted": 0,
    "archives": [{"message_count": 1, "created_at": "2026-03-01T12:00:00Z", "state": "done"}],
    "messages": [{"id": "m", "role": "user", "created_at": "2026-03-01T12:00:00Z", "parts": [{}]}],
}
_odd = st.sampled_from(
    (
        "",
        "viking://",
        "viking://../x",
        "viking://user",
        "\ud800",
        "A===",
        "AAAA",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00+14:00",
        "2026-03-01T12:00:00",
        "a/b",
        -1,
        2**63,
        10**400,
        1e308,
        float("nan"),
        None,
        True,
    )
)
_values = st.recursive(
    _odd | st.text(max_size=5) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def whole_file(line: bytes) -> bytes:
    """Return a file of one line, with digests that hold."""
    stream = io.BytesIO()
    with ExportWriter(stream, Header(NOON, "hash:x", 2), compressed=False):
        pass
    head = stream.getvalue().splitlines(keepends=True)[0]
    block = hashlib.sha256(head + line).hexdigest()
    records = int(line.startswith(b'{"record"'))
    told = {"block": {"records": records, "sha256": block}}
    return head + line + json.dumps(told).encode() + b"\n"


def first_block(line: bytes) -> Block | None:
    """Return what is read of the line, None where it is refused."""
    try:
        return next(ExportReader(io.BytesIO(whole_file(line))).blocks())
    except InvalidArgumentError as error:
        if str(error).startswith("line "):
            return None
        raise


def spelled(kind: str, fields: Mapping[str, object]) -> bytes:
    return json.dumps({kind: fields}).encode() + b"\n"


def test_the_examples_are_good_ones() -> None:
    for kind, example in (("record", RECORD), ("session", SESSION)):
        block = first_block(spelled(kind, example))
        assert block is not None
        assert len(block.entries) + len(block.sessions) == 1


@settings(max_examples=300)
@given(st.sampled_from(sorted(RECORD)), _values)
def test_a_record_with_anything_in_a_field(field: str, value: object) -> None:
    block = first_block(spelled("record", {**RECORD, field: value}))
    for entry in () if block is None else block.entries:
        record = entry.copy.record
        assert record.created_at.utcoffset() == record.updated_at.utcoffset() == NOON.utcoffset()
        assert record.active_count < 2**63
        assert record.owner == record.uri.owner


@settings(max_examples=300)
@given(st.sampled_from(sorted(SESSION)), _values)
def test_a_conversation_with_anything_in_a_field(field: str, value: object) -> None:
    block = first_block(spelled("session", {**SESSION, field: value}))
    for copy in () if block is None else block.sessions:
        json.dumps(copy.session.settings, allow_nan=False)
        assert sum(one.message_count for one in copy.archives) <= len(copy.messages)


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes_in_place_of_a_line(data: bytes) -> None:
    first_block(data + b"\n")


@settings(max_examples=200)
@given(st.binary(max_size=60) | st.just(b"[" * 100_000) | st.just(b'{"a":' * 100_000))
def test_any_bytes_in_place_of_a_file(data: bytes) -> None:
    try:
        ExportReader(io.BytesIO(data + b"\n"))
    except InvalidArgumentError:
        return
    raise AssertionError("no header was taken for one")
