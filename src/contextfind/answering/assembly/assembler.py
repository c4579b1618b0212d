"""From a question to the block that an agent puts into its prompt."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from contextfind.answering.assembly.categories import is_peer, peers_of
from contextfind.answering.assembly.filling import cap_of, filled
from contextfind.answering.assembly.gathering import Gathered, gathered
from contextfind.answering.assembly.ledger import Ledger
from contextfind.answering.assembly.reading import OfferReader, Read
from contextfind.answering.assembly.rendering import rendered
from contextfind.answering.assembly.request import Assembled, ContextQuestion, Dedup, Rewriting
from contextfind.answering.assembly.rewriting import (
    NO_MODEL,
    NO_RELEVANT,
    OFF,
    Rewriter,
    Rewritten,
)
from contextfind.answering.assembly.tiers import Shown, Tier
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion, QueryPlan, TypedQuery
from contextfind.domain.results import FindResult
from contextfind.domain.scope import visible_to
from contextfind.domain.session_ids import parse_session_id
from contextfind.domain.uri import Uri
from contextfind.ports import RecordStore
from contextfind.retrieval.finder import Finder
from contextfind.retrieval.searcher import Searcher
from contextfind.retrieval.uses import Count, uncounted

_MOST_PEERS = 32  # looked through by category; nobody works with more at once
_FINDS_AT_ONCE = 4
_LONG = (Tier.OVERVIEW, Tier.FULL)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What contexts are assembled with.

    rewriter: makes digests; None where no language model is configured. count: told of each text shown.
    """

    finder: Finder
    searcher: Searcher
    store: RecordStore
    reader: OfferReader
    ledger: Ledger
    rewriter: Rewriter | None = None
    count: Count = uncounted


class Assembler:
    """Assembles contexts. The same question on the same data gives the same block, unless turns cool."""

    def __init__(self, workshop: Workshop) -> None:
        self._with = workshop

    async def assemble(self, context: RequestContext, asked: ContextQuestion) -> Assembled:
        """Return the block and how it came about; it costs at most `asked.max_tokens`.

        Raises:
            As `Finder.find`. A language model that fails costs its part only, and a note says so.

        """
        identity = context.identity
        visible_to(identity, asked.find.targets)  # refuses before a model is asked
        if asked.actor and not is_peer(asked.actor, identity.user):
            asked = replace(asked, actor="")
        session = _session(asked.session_id)
        cooling = self._cooling(identity, asked, session)
        notes: list[str] = []
        plan, expansion = await self._planned(context, asked, session, notes)
        found = await self._gathered(context, asked, plan, cooling)
        read = await self._with.reader.read(identity, asked, found.candidates)
        spent = await asyncio.to_thread(filled, read.offers, asked.max_tokens)
        rewritten = await self._rewritten(context, asked, spent.entries)
        shown = () if rewritten.status == NO_RELEVANT else spent.entries
        self._count(shown, read)
        return Assembled(
            filled=spent,
            block=rendered(shown),
            searched=found.searched,
            candidates=len(found.candidates),
            excluded=len(asked.exclude) + len(cooling),
            deduped=found.deduped,
            cap=cap_of(asked.max_tokens, len(read.offers)),
            shares=asked.shares,
            expansion=expansion,
            queries=[typed.query for typed in plan.queries if typed.query.strip()],
            rewritten=rewritten,
            dedup=self._noted(identity, asked, session, len(cooling), shown),
            notes=_notes(notes, found, rewritten),
            unknown_targets=found.found[0].unknown_targets if found.found else (),
            words_only=any(one.words_only for one in found.found),
        )

    def forget(self, identity: Identity, session_id: str) -> None:
        """Forget what a session was shown: it was deleted, and its id may be used anew."""
        self._with.ledger.forget(identity, _session(session_id))

    def _cooling(self, identity: Identity, asked: ContextQuestion, session: str) -> frozenset[Uri]:
        if not session or asked.dedup_turns == 0:
            return frozenset()
        return self._with.ledger.cooling(identity, session, asked.dedup_turns)

    def _count(self, shown: Sequence[Shown], read: Read) -> None:
        """Count what was given as uses, as the texts of a find are: abstracts are none."""
        for one in shown:
            record = read.records.get(one.head.uri.text)
            if one.tier in _LONG and record is not None:
                self._with.count(record)

    async def _planned(
        self, context: RequestContext, asked: ContextQuestion, session: str, notes: list[str]
    ) -> tuple[QueryPlan, str]:
        """Return what is searched, and what the session's last messages had to do with it."""
        only = QueryPlan((TypedQuery(asked.find.query),))
        if not asked.expand or not session or not asked.find.query.strip():
            return only, "off" if not asked.expand else "none"
        plan = await self._with.searcher.plan(context, asked.find, session, notes)
        if not plan.queries:
            return plan, "nothing"
        others = any(typed.query != asked.find.query for typed in plan.queries)
        return plan, "used" if others else "none"

    async def _gathered(
        self,
        context: RequestContext,
        asked: ContextQuestion,
        plan: QueryPlan,
        cooling: frozenset[Uri],
    ) -> Gathered:
        if not plan.queries:
            return Gathered((), {}, 0, ())
        gate = asyncio.Semaphore(_FINDS_AT_ONCE)
        queries = plan.queries if asked.find.query.strip() else ()

        async def find(question: FindQuestion) -> FindResult:
            async with gate:
                return await self._with.finder.find(context, question, queries)

        user = context.identity.user
        peers = await self._peers(context.identity, asked)
        return await gathered(asked, user, peers, cooling, find)

    async def _peers(self, identity: Identity, asked: ContextQuestion) -> list[str]:
        """Return whose parts of the user's tree are looked through by category."""
        if asked.shares is None:
            return []
        own = [asked.actor] if asked.actor else []
        if not asked.all_peers:
            return own
        directory = peers_of(identity.user)
        records = await self._with.store.children(visible_to(identity), directory, _MOST_PEERS)
        names = [one.name for one in records if not one.is_leaf and one.name not in own]
        return [*own, *(name for name in names if is_peer(name, identity.user))]

    async def _rewritten(
        self, context: RequestContext, asked: ContextQuestion, entries: Sequence[Shown]
    ) -> Rewritten:
        if asked.rewrite is Rewriting.OFF:
            return Rewritten()
        rewriter = self._with.rewriter
        if rewriter is None:
            missing = (
                "no digest: no language model is configured (query_planner.model or vlm.model)"
            )
            wanted = asked.rewrite is Rewriting.ON
            return Rewritten(NO_MODEL, note=missing) if wanted else Rewritten(OFF)
        if not entries:
            return Rewritten(NO_RELEVANT)
        query = asked.find.query
        return await rewriter.rewrite(context, query, entries, asked.bullets, asked.max_tokens)

    def _noted(
        self,
        identity: Identity,
        asked: ContextQuestion,
        session: str,
        cooled: int,
        shown: Sequence[Shown],
    ) -> Dedup:
        """Write down what the session was shown; an address without a text may come again."""
        if asked.dedup_turns == 0:
            return Dedup("off")
        if not session:
            return Dedup("no_session")
        uris = [one.head.uri for one in shown if one.tier is not Tier.URI]
        return Dedup("ok", cooled, self._with.ledger.note(identity, session, uris))


def _session(text: str) -> str:
    """Return the id of a session, empty for what cannot be one: it is as if none was named."""
    try:
        return parse_session_id(text) if text.strip() else ""
    except InvalidArgumentError:
        return ""


def _notes(notes: Sequence[str], found: Gathered, rewritten: Rewritten) -> list[str]:
    own = [rewritten.note] if rewritten.note else []
    return list(dict.fromkeys([*notes, *(note for one in found.found for note in one.notes), *own]))
