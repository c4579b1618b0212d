"""Changes of the log as points of the collection, and points as what was found of a record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from qdrant_client import models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.conditions import before, is_, microseconds
from contextfind.adapters.qdrant.words import Text, Weights, stored_weights
from contextfind.domain.records import Level, Record
from contextfind.domain.uri import ROOT, Uri
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

_SPACE = UUID("0b6d2f1e-6a5c-5d0e-9c43-5f2d6f0c9a11")  # of all our ids; never changed
POSITION_ID = str(uuid5(_SPACE, "position"))
ROWS_AT_ONCE = 128  # in one operation: of 384 numbers each some 600 kB of JSON


@dataclass(frozen=True, slots=True)
class Found:
    """A record as the collection holds it.

    texts: the words of its passages, in order.
    """

    uri: Uri
    level: Level
    texts: tuple[Text, ...]

    @property
    def place(self) -> tuple[str, str, int]:
        """Its place in tree order."""
        parent = self.uri.parent
        return ("" if parent is None else parent.folder, self.uri.name, self.level.value)


def mark_id(account: str) -> str:
    """Return the id of the point that says when an account last changed."""
    return str(uuid5(_SPACE, f"account {account}"))


def found(payloads: Sequence[Mapping[str, Any]]) -> tuple[int, Found] | None:
    """Return the newest state among the points of one record, and the change that it was written for.

    None when it is gone. What is written at this moment is shown as far as it has come.
    """
    newest = max(payload[fields.CHANGE] for payload in payloads)
    rows = [p for p in payloads if p[fields.CHANGE] == newest and fields.ROW in p]
    if not rows:
        return None
    rows.sort(key=lambda payload: payload[fields.ROW])
    texts = tuple(Text.of(row[fields.ORDINAL], row[fields.TERMS]) for row in rows)
    first = rows[0]
    return newest, Found(Uri(first[fields.URI]), Level(int(first[fields.LEVEL])), texts)


def operations(
    change: Change, tokenizer: Tokenizer, account: str
) -> Iterator[tuple[int, models.UpdateOperation]]:
    """Yield what makes the collection show a change, and how many rows each step writes.

    Each step leaves alone what a later change has written, so repeats and others at the same work do no harm.
    account: whose a record was that is gone, or has no passages now.
    """
    rows = list(_rows(change, tokenizer)) or [_gone(change, account)]
    older = before(change.position)
    for low in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[low : low + ROWS_AT_ONCE]
        points = models.PointsList(points=part, update_filter=models.Filter(must=[older]))
        yield len(part), models.UpsertOperation(upsert=points)
    outdated = models.Filter(must=[is_(fields.RECORD, change.id), older])
    yield 0, models.DeleteOperation(delete=models.FilterSelector(filter=outdated))


def standing(point: str, position: int) -> models.UpdateOperation:
    """Return the step that has a point say a position, unless it says a later one."""
    said = models.PointStruct(id=point, vector={}, payload={fields.POSITION: position})
    earlier = models.FieldCondition(key=fields.POSITION, range=models.Range(lt=position))
    only = models.Filter(must=[earlier])
    return models.UpsertOperation(upsert=models.PointsList(points=[said], update_filter=only))


def _rows(change: Change, tokenizer: Tokenizer) -> Iterator[models.PointStruct]:
    if change.record is None:
        return
    shared = {**_of_record(change.record), fields.CHANGE: change.position}
    for row, passage in enumerate(change.passages):
        terms = tokenizer.terms(passage.indexed_text)
        payload = {
            **shared,
            fields.ROW: row,
            fields.ROWS: len(change.passages),
            fields.ORDINAL: passage.ordinal,
            fields.TERMS: terms,
            fields.LENGTH: len(terms),
        }
        vectors: dict[str, Any] = {}
        if change.vectors is not None:
            vectors[fields.MEANING] = change.vectors[row].tolist()
        if (weights := stored_weights(terms)) is not None:
            vectors[fields.WORDS] = sparse(weights)
        yield models.PointStruct(id=_id(change, row), vector=vectors, payload=payload)


def sparse(weights: Weights) -> models.SparseVector:
    """Return weights as Qdrant takes them."""
    return models.SparseVector(indices=weights.indices, values=weights.values)


def _gone(change: Change, account: str) -> models.PointStruct:
    payload = {
        fields.RECORD: change.id,
        fields.CHANGE: change.position,
        fields.GONE_FROM: account,
    }
    return models.PointStruct(id=_id(change, 0), vector={}, payload=payload)


def _id(change: Change, row: int) -> str:
    return str(uuid5(_SPACE, f"{change.id} {row}"))


def _of_record(record: Record) -> dict[str, Any]:
    return {
        fields.RECORD: record.id,
        fields.ACCOUNT: record.account,
        fields.OWNER: record.owner,
        fields.URI: record.uri.text,
        fields.PARENT: "" if record.parent is None else record.parent.text,
        fields.NAME: record.name,
        fields.LEVEL: str(record.level.value),
        fields.CONTEXT_TYPE: record.context_type.value,
        fields.TAGS: list(record.tags),
        fields.AT: [at.text for at in _at_and_above(record.uri)],
        fields.CREATED_AT: microseconds(record.created_at),
        fields.UPDATED_AT: microseconds(record.updated_at),
    }


def _at_and_above(uri: Uri) -> Iterator[Uri]:
    here: Uri | None = uri
    while here is not None and here != ROOT:
        yield here
        here = here.parent
