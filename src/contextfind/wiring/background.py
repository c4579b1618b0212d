"""Which kinds of work run as jobs, and that the unfinished of the last run go on."""

import logging
from concurrent.futures import Executor
from contextlib import AsyncExitStack
from dataclasses import dataclass

from contextfind.config.model import Settings
from contextfind.ingestion.adding import AddDesk, Adding
from contextfind.ingestion.courtesy import Courtesy
from contextfind.ingestion.jobs import Jobs
from contextfind.ingestion.reindexing import ReindexDesk, Reindexing
from contextfind.ingestion.settling import Settling
from contextfind.ingestion.writing import Writer
from contextfind.retrieval.finder import Finder
from contextfind.sessions.archiving import ArchiveDesk, Archivist
from contextfind.sessions.commit import Committer
from contextfind.sessions.retrying import Retrying
from contextfind.sessions.summary import Summariser, SummaryRules
from contextfind.wiring.engines import Engines
from contextfind.wiring.remembering import build_memories
from contextfind.wiring.surroundings import Surroundings

_log = logging.getLogger(__name__)
_MARGIN = 5.0  # seconds; so that the model's own limit ends a call, and says why
_CALLS = 10  # times the limit of one call, for the memories of one archive: 8 calls and some finds


@dataclass(frozen=True, slots=True)
class Ground:
    """What jobs are built on; cpu: where long texts are worked on."""

    settings: Settings
    engines: Engines
    around: Surroundings
    finder: Finder
    writer: Writer
    settling: Settling
    cpu: Executor
    courtesy: Courtesy


@dataclass(frozen=True, slots=True)
class Background:
    """The runner of jobs, and what starts them."""

    jobs: Jobs
    adding: Adding
    committer: Committer
    reindexing: Reindexing


async def start_background(ground: Ground, adds: AddDesk, stack: AsyncExitStack) -> Background:
    """Take on every kind of job, and start again what was left; `stack` interrupts what runs."""
    engines, clock = ground.engines, ground.around.clock
    archivist = _archivist(ground)
    jobs = Jobs(engines.storage.jobs, clock, ground.around.new_id)
    stack.push_async_callback(jobs.aclose)
    adding = Adding(adds, jobs)
    jobs.take_on(adding)
    retrying = Retrying(archivist, jobs, clock)
    jobs.take_on(retrying)
    company = engines.storage.company
    committer = Committer(engines.sessions, archivist, retrying, jobs, clock, company)
    jobs.take_on(committer)
    reindexing = Reindexing(_reindex_desk(ground), jobs)
    jobs.take_on(reindexing)
    resumed = await jobs.resume()
    if resumed:
        _log.info("%d unfinished tasks of the last run go on", resumed)
    return Background(jobs, adding, committer, reindexing)


def _reindex_desk(ground: Ground) -> ReindexDesk:
    engines = ground.engines
    return ReindexDesk(
        engines.store,
        engines.index,
        ground.settling,
        ground.around.timer,
        ground.courtesy.give_way,
        engines.storage.company,
    )


def _archivist(ground: Ground) -> Archivist:
    """Return what works off archives: by `vlm.model`, or without one."""
    settings, engines = ground.settings, ground.engines
    seconds = settings.vlm.timeout
    rules = SummaryRules(
        max_tokens=settings.ingestion.summary_max_tokens, seconds=seconds + _MARGIN
    )
    desk = ArchiveDesk(
        sessions=engines.sessions,
        summariser=Summariser(engines.chat, rules, ground.cpu),
        settling=ground.settling,
        extractor=build_memories(engines, ground.finder, ground.writer),
        extraction_seconds=seconds * _CALLS,
        company=engines.storage.company,
    )
    return Archivist(desk)
