"""Having the collection show what the log says."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice

from qdrant_client import models

from contextfind.adapters.qdrant import fields
from contextfind.adapters.qdrant.cluster import Cluster
from contextfind.adapters.qdrant.conditions import numbered
from contextfind.adapters.qdrant.points import (
    POSITION_ID,
    ROWS_AT_ONCE,
    mark_id,
    operations,
    standing,
)
from contextfind.domain.records import RecordId
from contextfind.ports.models import Tokenizer
from contextfind.ports.store import Change

_STEPS_AT_ONCE = 256  # of one request, however few rows they write


async def position_of(cluster: Cluster) -> int:
    """Return how far the log was followed, by whomever.

    Raises:
        UnavailableError: the cluster does not answer.

    """
    points = await cluster.read([POSITION_ID])
    position: int = points.get(POSITION_ID, {}).get(fields.POSITION, 0)
    return position


async def follow(cluster: Cluster, tokenizer: Tokenizer, changes: Sequence[Change]) -> int:
    """Have the collection show some changes; return the position that it then stands at.

    First the records, then the marks of the accounts they belong to, last the position: killed in between, it is
    done again.

    Raises:
        UnavailableError: the cluster does not answer.

    """
    position = await position_of(cluster)
    fresh = [change for change in changes if change.position > position]
    if not fresh:
        return position
    last = {change.id: change for change in fresh}
    gone = [change.id for change in last.values() if change.record is None]
    accounts = await _accounts(cluster, gone)
    steps = (
        step
        for change in last.values()
        for step in operations(change, tokenizer, accounts.get(change.id, ""))
    )
    while batch := await asyncio.to_thread(_some, steps):
        await cluster.update(batch)
    touched = set(accounts.values()) | {c.record.account for c in last.values() if c.record}
    reached = fresh[-1].position
    marks = [standing(mark_id(account), reached) for account in sorted(touched)]
    await cluster.update([*marks, standing(POSITION_ID, reached)])
    return reached


async def _accounts(cluster: Cluster, gone: Sequence[RecordId]) -> dict[int, str]:
    """Return whose records these were, of those that were ever here."""
    if not gone:
        return {}
    where = models.Filter(must=[numbered(gone)])
    rows = await cluster.select(where, (fields.RECORD, fields.ACCOUNT, fields.GONE_FROM))
    return {
        row[fields.RECORD]: row.get(fields.ACCOUNT) or row.get(fields.GONE_FROM, "") for row in rows
    }


def _some(steps: Iterator[tuple[int, models.UpdateOperation]]) -> list[models.UpdateOperation]:
    """Return the next steps, as many as fit one request; none when all are done."""
    taken: list[models.UpdateOperation] = []
    rows = 0
    for size, step in islice(steps, _STEPS_AT_ONCE):
        taken.append(step)
        rows += size
        if rows >= ROWS_AT_ONCE:
            break
    return taken
