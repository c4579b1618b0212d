"""Records, passages, changes, vectors and messages in one line each; the same arguments give the same values."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from contextfind.domain.conversation import SessionMessage
from contextfind.domain.documents import make_passage
from contextfind.domain.records import (
    ContextType,
    Level,
    Matrix,
    Passage,
    Record,
    RecordId,
    Vector,
    context_type_of,
)
from contextfind.domain.uri import Uri
from contextfind.ports.store import Change

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DIMENSION = 8


def unit(seed: int, dimension: int = DIMENSION) -> Vector:
    """Return a random unit vector; the same seed gives the same one."""
    drawn = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    vector: Vector = (drawn / np.linalg.norm(drawn)).astype(np.float32)
    return vector


def units(seeds: Sequence[int], dimension: int = DIMENSION) -> Matrix:
    """Return one unit vector per seed, shape (len(seeds), dimension)."""
    matrix: Matrix = np.zeros((len(seeds), dimension), np.float32)
    for row, seed in enumerate(seeds):
        matrix[row] = unit(seed, dimension)
    return matrix


def make_record(  # noqa: PLR0913 - every field a test may want to name
    id: int = 1,  # noqa: A002
    uri: str = "viking://resources/a.md",
    level: Level = Level.DETAIL,
    *,
    account: str = "acme",
    context_type: ContextType | None = None,
    abstract: str = "",
    tags: tuple[str, ...] = (),
    created_at: datetime = NOON,
    updated_at: datetime | None = None,
    active_count: int = 0,
    content: str = "",
) -> Record:
    """Return a record; owner and context type follow from the address."""
    address = Uri.parse(uri)
    return Record(
        id=RecordId(id),
        account=account,
        owner=address.owner,
        uri=address,
        level=level,
        context_type=context_type or context_type_of(address),
        abstract=abstract or f"about {address.name}",
        tags=tags,
        created_at=created_at,
        updated_at=created_at if updated_at is None else updated_at,
        content=content,
        active_count=active_count,
    )


def make_passages(*texts: str, context: str = "") -> tuple[Passage, ...]:
    """Return one passage per text, ordinals 0, 1, …"""
    return tuple(make_passage(i, "", text, context) for i, text in enumerate(texts))


def make_change(
    position: int,
    record: Record,
    texts: Sequence[str] = (),
    seeds: Sequence[int] | None = None,
) -> Change:
    """Return the log entry of a record; `seeds` makes one vector per text, None = not embedded yet."""
    vectors = None if seeds is None else units(seeds)
    return Change(position, record.id, record, make_passages(*texts), vectors)


def make_removal(position: int, id: int) -> Change:  # noqa: A002
    """Return the log entry of a record that is gone."""
    return Change(position, RecordId(id), None)


def make_message(
    id: str = "m1",  # noqa: A002
    text: str = "hello",
    role: str = "user",
    *,
    tokens: int = 1,
    at: datetime = NOON,
) -> SessionMessage:
    """Return a message whose one part is its text."""
    return SessionMessage(id, role, [{"type": "text", "text": text}], text, tokens, at)
