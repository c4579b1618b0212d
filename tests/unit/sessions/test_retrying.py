import asyncio
from datetime import timedelta

from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.ports import Job, JobState
from contextfind.sessions.retrying import SESSION_RETRY
from tests.builders import NOON
from tests.households import ANN
from tests.offices import BROKEN, USELESS, FakeChat, FakeExtractor, Office, office


async def retries(here: Office) -> list[Job]:
    jobs = await here.jobs.list(ANN, 100)
    return [job for job in jobs if job.kind == SESSION_RETRY]


async def test_what_is_owed_is_tried_again_without_a_commit() -> None:
    extractor = FakeExtractor(fault=BROKEN, times=1)
    async with office(FakeChat(), extractor) as here:
        here.waits = (0.0,)
        here.open()
        await here.say("I like green tea.")
        await here.commit()
        [job] = await retries(here)
        ended = await here.jobs.finished(ANN, job.id, 10)
        assert ended.result is not None
        assert ended.result["memories_extracted"] == {"created": 1, "updated": 0}
        assert [one.error for one in await here.archives()] == [""]


async def test_what_is_owed_is_given_up_after_the_last_try_and_left_to_the_next_commit() -> None:
    extractor = FakeExtractor(fault=BROKEN)
    async with office(None, extractor) as here:
        here.waits = (0.0, 0.0, 0.0)
        here.open()
        await here.say("I like green tea.")
        await here.commit()
        for number in range(3):
            job = (await retries(here))[-1 - number]
            await here.jobs.finished(ANN, job.id, 10)
        assert len(await retries(here)) == 3
        assert len(extractor.seen) == 4
        extractor.fault = None
        await here.commit()
        assert extractor.known == {"I like green tea."}


async def test_what_is_owed_waits_once_however_many_commits_fail_and_keeps_none_from_being_made() -> (
    None
):
    async with office(None, FakeExtractor(fault=BROKEN)) as here:
        for number in range(3):
            await here.say(f"Message {number} tells of lamps.")
            assert (await here.commit()).state is JobState.COMPLETED
        [job] = await retries(here)
        assert (job.state, job.stage) == (JobState.RUNNING, "waiting")


class SlowJobs(MemoryJobStore):
    """Lets others go on while it saves, as a file does."""

    async def save(self, job: Job) -> None:
        await asyncio.sleep(0)
        await super().save(job)


async def test_what_is_owed_waits_once_also_when_two_ask_for_it_at_once() -> None:
    async with office(None, FakeExtractor()) as here:
        here.job_store = SlowJobs()
        here.open()
        asked = (here.retrying.later(ANN, name) for name in ("s1", "s1", "s2", "s1"))
        assert await asyncio.gather(*asked) == [True] * 4
        assert sorted(job.spec["session_id"] for job in await retries(here)) == ["s1", "s2"]


async def test_what_is_owed_is_tried_after_a_restart_when_its_time_has_come() -> None:
    extractor = FakeExtractor(fault=BROKEN)
    async with office(None, extractor) as here:
        await here.say("I like green tea.")
        await here.commit()
        await here.jobs.aclose()
        extractor.fault = None
        here.now = NOON + timedelta(seconds=61)
        here.open()
        assert await here.jobs.resume() == 1
        [job] = await retries(here)
        assert (await here.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED
        assert extractor.known == {"I like green tea."}


async def test_a_clock_that_was_set_back_lets_nothing_wait_longer() -> None:
    extractor = FakeExtractor(fault=BROKEN)
    async with office(None, extractor) as here:
        here.waits = (0.05,)
        here.open()
        await here.say("I like green tea.")
        here.now = NOON + timedelta(days=1)
        await here.commit()
        extractor.fault = None
        await here.jobs.aclose()
        here.now = NOON
        here.open()
        assert await here.jobs.resume() == 1
        [job] = await retries(here)
        assert (await here.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED


async def test_what_is_owed_is_asked_for_once_when_a_commit_comes_while_it_is_tried() -> None:
    extractor = FakeExtractor(fault=BROKEN, times=1, pause=asyncio.Event())
    async with office(None, extractor) as here:
        here.waits = (0.0,)
        here.open()
        await here.say("I like green tea.")
        await here.commit()
        while len(extractor.seen) < 2:  # noqa: ASYNC110 - the pool says nothing
            await asyncio.sleep(0.001)
        second = await here.committer.commit(ANN, "s1")
        assert second.job is not None
        await asyncio.sleep(0.01)
        assert extractor.pause is not None
        extractor.pause.set()
        ended = await here.jobs.finished(ANN, second.job.id, 10)
        assert ended.result is not None
        assert ended.result["note"] == "no archive waited"
        assert len(extractor.seen) == 2


async def test_useless_answers_are_not_waited_for() -> None:
    async with office(FakeChat(fault=USELESS), FakeExtractor(fault=USELESS)) as here:
        await here.say("I like green tea.")
        await here.commit()
        assert await retries(here) == []
