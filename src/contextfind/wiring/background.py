"""Which kinds of work run as jobs, and that the unfinished of the last run go on."""

import logging
from contextlib import AsyncExitStack
from dataclasses import dataclass

from contextfind.ingestion.adding import AddDesk, Adding
from contextfind.ingestion.jobs import Jobs
from contextfind.wiring.engines import Engines
from contextfind.wiring.surroundings import Surroundings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Background:
    """The runner of jobs, and what starts them."""

    jobs: Jobs
    adding: Adding


async def start_background(
    engines: Engines, around: Surroundings, adds: AddDesk, stack: AsyncExitStack
) -> Background:
    """Take on every kind of job, and start again what was left; `stack` interrupts what runs."""
    jobs = Jobs(engines.job_store, around.clock, around.new_id)
    stack.push_async_callback(jobs.aclose)
    adding = Adding(adds, jobs)
    jobs.take_on(adding)
    resumed = await jobs.resume()
    if resumed:
        _log.info("%d unfinished tasks of the last run go on", resumed)
    return Background(jobs, adding)
