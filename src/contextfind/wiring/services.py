"""Engines -> the services that use them."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from contextfind.adapters.files.allowed import AllowedPaths
from contextfind.config.model import Settings
from contextfind.config.retrieval import RetrievalSettings
from contextfind.domain.identity import RequestContext
from contextfind.domain.queries import FindQuestion, TypedQuery
from contextfind.domain.results import FindResult
from contextfind.domain.scoring import HotnessRules, ScoreRules
from contextfind.ingestion.adding import AddDesk
from contextfind.ingestion.courtesy import Courtesy
from contextfind.ingestion.embedding import EmbeddingWorker
from contextfind.ingestion.follower import Follower, Shared
from contextfind.ingestion.housekeeping import Housekeeper
from contextfind.ingestion.ingest import Ingest
from contextfind.ingestion.passages import PassageRules
from contextfind.ingestion.pulse import Pulse
from contextfind.ingestion.reindexing import put_right
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.summaries import SummaryWorker
from contextfind.ingestion.writing import Desk
from contextfind.retrieval.finder import Finder, Reading
from contextfind.retrieval.frontier import WalkRules
from contextfind.retrieval.hotness import Stove
from contextfind.retrieval.reranking import Panel
from contextfind.retrieval.uses import Uses
from contextfind.retrieval.walk import HierarchicalRetriever
from contextfind.wiring.engines import Engines
from contextfind.wiring.housekeeping import build_mender
from contextfind.wiring.shifts import Shift, Work
from contextfind.wiring.surroundings import Surroundings

_INDEX_PATIENCE = 30.0  # seconds a find waits for an index that is being rebuilt after a start


@dataclass(frozen=True, slots=True)
class Workers:
    """The services that run behind the requests, and by name how each is kept at work."""

    follower: Follower
    embedding: EmbeddingWorker
    summaries: SummaryWorker
    uses: Uses
    courtesy: Courtesy
    shifts: Mapping[str, Shift]


def build_desk(
    settings: Settings, engines: Engines, around: Surroundings, cpu: Executor, bulk: Executor
) -> Desk:
    """Return what records are written with; parsing runs in `cpu`, that of many files in `bulk`."""
    rules = PassageRules(settings.ingestion.passage_target, settings.ingestion.passage_longest)
    company = engines.storage.company
    return Desk(engines.store, engines.blobs, around.clock, cpu, rules, bulk, company=company)


def start_workers(
    engines: Engines,
    desk: Desk,
    pulse: Pulse,
    around: Surroundings,
    housekeeper: Housekeeper | None,
) -> Workers:
    """Start what runs behind the requests."""
    courtesy = desk.courtesy
    follower = _build_follower(engines, pulse, courtesy)
    embedding = EmbeddingWorker(
        engines.store,
        engines.embedder,
        pulse,
        around.timer,
        courtesy,
        alone=engines.storage.company.alone,
    )
    summaries = SummaryWorker(desk, pulse, engines.author)
    uses = Uses(engines.store)
    work: dict[str, Work] = {
        "follower": follower.run,
        "embedding": embedding.run,
        "summaries": summaries.run,
        "uses": uses.run,
        "self-check": build_mender(engines.storage, courtesy).run,
    }
    if housekeeper is not None:
        work["housekeeper"] = housekeeper.run
    shifts = {name: Shift(name, run) for name, run in work.items()}
    return Workers(follower, embedding, summaries, uses, courtesy, shifts)


def _build_follower(engines: Engines, pulse: Pulse, courtesy: Courtesy) -> Follower:
    company = engines.storage.company
    anew = partial(put_right, engines.index, engines.store, company)
    shared = Shared(company, engines.storage.upkeep.reach, anew) if engines.shares_index else None
    return Follower(engines.store, engines.index, pulse, courtesy, shared=shared)


async def stop_workers(workers: Workers) -> None:
    """Cancel the workers, wait until they are gone, and write down the last uses."""
    tasks = [shift.task for shift in workers.shifts.values()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await workers.uses.flush()


def add_desk(
    settings: Settings,
    engines: Engines,
    ingest: Ingest,
    settling: Settling,
    served: Sequence[Path],
) -> AddDesk:
    """Return what the tasks that add resources work with."""
    return AddDesk(
        ingest=ingest,
        settling=settling,
        uploads=engines.storage.uploads,
        paths=AllowedPaths([Path(path) for path in settings.server.allowed_paths]),
        own_paths=AllowedPaths(served),
    )


def score_rules(knobs: RetrievalSettings) -> ScoreRules:
    """Return what ov.conf `retrieval` says of scores."""
    return ScoreRules(
        score_propagation_alpha=knobs.score_propagation_alpha,
        meaning_weight=knobs.meaning_weight,
        directory_own=knobs.directory_own,
        support_weight=knobs.support_weight,
        phrase_weight=knobs.phrase_weight,
    )


class PreferredFinder(Finder):
    """A finder that the work behind the requests gives way to."""

    def __init__(
        self, reading: Reading, retriever: HierarchicalRetriever, courtesy: Courtesy
    ) -> None:
        super().__init__(reading, retriever)
        self._courtesy = courtesy

    async def find(
        self, context: RequestContext, question: FindQuestion, queries: Sequence[TypedQuery] = ()
    ) -> FindResult:
        """See `Finder.find`."""
        with self._courtesy.answering():
            return await super().find(context, question, queries)


def build_finder(
    settings: Settings, engines: Engines, workers: Workers, around: Surroundings
) -> Finder:
    """Return the finder with the rules of ov.conf `retrieval`."""
    knobs = settings.retrieval
    scores = score_rules(knobs)
    walk = WalkRules(
        candidates=knobs.candidates,
        global_search_topk=knobs.global_search_topk,
        batch=knobs.batch,
        children=knobs.children,
        max_convergence_rounds=knobs.max_convergence_rounds,
        thinking_rounds=knobs.thinking_rounds,
    )
    retriever = HierarchicalRetriever(engines.index, engines.embedder.calibration, scores, walk)
    reading = Reading(
        store=engines.store,
        blobs=engines.blobs,
        embedder=engines.embedder,
        tokenizer=engines.tokenizer,
        ready=lambda: workers.follower.ready(_INDEX_PATIENCE),
        timer=around.timer,
        sight=engines.sight,
        collapse_duplicates=knobs.collapse_duplicates,
        count=workers.uses.count,
        panel=_panel(knobs, engines),
        stove=_stove(knobs, engines, around),
    )
    return PreferredFinder(reading, retriever, workers.courtesy)


def _panel(knobs: RetrievalSettings, engines: Engines) -> Panel | None:
    """Return who judges searches, None where no reranker is configured."""
    if engines.reranker is None:
        return None
    return Panel(engines.reranker, engines.store, knobs.rerank_candidates, knobs.rerank_seconds)


def _stove(knobs: RetrievalSettings, engines: Engines, around: Surroundings) -> Stove | None:
    """Return what blends hotness in, None where its share is 0: then nothing is read for it."""
    rules = HotnessRules(knobs.hotness_alpha, knobs.hotness_half_life_days)
    return None if rules.alpha == 0 else Stove(engines.store, around.clock, rules)
