"""The texts of entries, by tier, as far as they may be shown."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from contextfind.answering.assembly.filling import cap_of
from contextfind.answering.assembly.gathering import Candidate
from contextfind.answering.assembly.rendering import quotable
from contextfind.answering.assembly.request import ContextQuestion
from contextfind.answering.assembly.tiers import Head, Offer, Tier, at_most
from contextfind.answering.contexts import ContextReader
from contextfind.domain.errors import DamagedError
from contextfind.domain.identity import Identity
from contextfind.domain.records import Level, Record, RecordId
from contextfind.domain.scope import Scope, visible_to
from contextfind.domain.skills import SKILL_FILE, SPELLINGS
from contextfind.domain.tokens import BYTES, estimated_tokens
from contextfind.ports import BlobStore, RecordStore, body_of

DEEPENED_FROM = 0.35  # hits below are noise (docs: the score): their abstract is enough of them
OVERVIEW_TOKENS = 400  # of a file: one or two passages
_HEAD_TOKENS = 40  # about what the tags of an entry cost
_READS_AT_ONCE = 8
_LONG = 50_000  # characters; half a millisecond on the event loop


@dataclass(frozen=True, slots=True)
class _Found:
    """A candidate as it is stored: the record whose abstract is shown, and the one that says more."""

    head: Head
    record: Record
    more: Record | None
    ceiling: tuple[Tier, ...]
    texts: dict[Tier, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """Offers, best first; the record behind the long texts of each, by address, for who counts uses."""

    offers: Sequence[Offer]
    records: Mapping[str, RecordId]


class OfferReader:
    """Reads what entries can be shown with."""

    def __init__(self, store: RecordStore, blobs: BlobStore, reader: ContextReader) -> None:
        self._store = store
        self._blobs = blobs
        self._reader = reader

    async def read(
        self, identity: Identity, asked: ContextQuestion, candidates: Sequence[Candidate]
    ) -> Read:
        """Return the offers in the order of the candidates; what is gone meanwhile is left out.

        A text that costs more than the whole budget is not read.
        """
        scope = visible_to(identity)
        gate = asyncio.Semaphore(_READS_AT_ONCE)

        async def one(candidate: Candidate) -> _Found | None:
            async with gate:
                return await self._found(scope, asked, candidate)

        looked = await asyncio.gather(*(one(candidate) for candidate in candidates))
        found = [one for one in looked if one is not None]
        room = min(cap_of(asked.max_tokens, len(found)) - _HEAD_TOKENS, OVERVIEW_TOKENS)
        await self._quote(identity, asked.find.query, found, room)
        return Read(
            [Offer(one.head, one.texts) for one in found],
            {one.head.uri.text: one.more.id for one in found if one.more is not None},
        )

    async def _found(
        self, scope: Scope, asked: ContextQuestion, candidate: Candidate
    ) -> _Found | None:
        head = candidate.head
        records = await self._store.at(scope, head.uri)
        if not records and head.uri.name == SKILL_FILE:
            head, records = await self._spelled(scope, head)
        by_level = {record.level: record for record in records}
        levels = (
            (Level.ABSTRACT, Level.OVERVIEW)
            if candidate.directory
            else (Level.DETAIL, Level.DETAIL)
        )
        record = by_level.get(levels[0])
        if record is None:
            return None
        pinned = asked.pinned(head.category)
        deepest = Tier.FULL if head.score >= DEEPENED_FROM else Tier.ABSTRACT
        ceiling = at_most(deepest if pinned is None else pinned)
        found = _Found(head, record, by_level.get(levels[1]), ceiling)
        await self._fill(found, asked.max_tokens)
        return found

    async def _spelled(self, scope: Scope, head: Head) -> tuple[Head, Sequence[Record]]:
        """Return a skill whose SKILL.md is written another way."""
        folder = head.uri.parent or head.uri
        for name in sorted(SPELLINGS):
            records = await self._store.at(scope, folder.child(name))
            if records:
                return replace(head, uri=folder.child(name)), records
        return head, ()

    async def _fill(self, found: _Found, tokens: int) -> None:
        """Put in the texts that are stored; a body that is lost is as good as none."""
        abstract = quotable(found.record.abstract)
        if abstract and Tier.ABSTRACT in found.ceiling:
            found.texts[Tier.ABSTRACT] = abstract
        more = found.more
        if more is None or Tier.OVERVIEW not in found.ceiling or more.size > BYTES * tokens:
            return
        try:
            body = await _quotable(await body_of(more, self._blobs))
        except DamagedError:
            return
        if not body:
            return
        if more.level is Level.OVERVIEW:
            found.texts[Tier.OVERVIEW] = body
        elif Tier.FULL in found.ceiling:
            found.texts[Tier.FULL] = body
        elif estimated_tokens(body) <= OVERVIEW_TOKENS:
            found.texts[Tier.OVERVIEW] = body

    async def _quote(
        self, identity: Identity, question: str, found: Sequence[_Found], room: int
    ) -> None:
        """Put in what of each long file fits the question."""
        long = [one for one in found if _is_long(one, room)]
        if room <= 0 or not long:
            return
        records = [one.record for one in long]
        for one, text in zip(
            long, await self._reader.quoted(identity, question, records, room), strict=True
        ):
            if quoted := quotable(text):
                one.texts[Tier.OVERVIEW] = quoted


async def _quotable(text: str) -> str:
    """Return a text as it may stand in the block; long ones would hold up everybody else."""
    return quotable(text) if len(text) < _LONG else await asyncio.to_thread(quotable, text)


def _is_long(one: _Found, room: int) -> bool:
    """Whether there is a file of which an excerpt says more than the abstract, and less than all of it."""
    if not one.record.is_leaf or Tier.OVERVIEW not in one.ceiling or Tier.OVERVIEW in one.texts:
        return False
    return one.record.size > BYTES * room
