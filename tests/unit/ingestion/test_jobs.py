import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

import pytest

from contextfind.adapters.memory.jobs import MemoryJobStore
from contextfind.adapters.memory.sources import MemorySource
from contextfind.domain.errors import (
    ContextFindError,
    DeadlineExceededError,
    DiskRefusesError,
    InvalidArgumentError,
    InvalidUriError,
    NotFoundError,
    StoreDownError,
    UnavailableError,
)
from contextfind.domain.records import Level, Matrix
from contextfind.domain.uri import Uri
from contextfind.ingestion import jobs
from contextfind.ingestion.adding import AddRequest
from contextfind.ingestion.errands import Course
from contextfind.ports import Job, JobState, Purpose
from tests.fakes import FakeEmbedder
from tests.households import ANN, BEN, DOCS, Household, household


@pytest.fixture
async def house() -> AsyncIterator[Household]:
    async with household() as built:
        built.folders.sources["/docs"] = MemorySource({"a.md": b"the quokka"}, "docs")
        yield built


async def test_a_job_ends_when_its_files_can_be_found_and_says_how_it_went(
    house: Household,
) -> None:
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    assert job.spec["root_uri"] == DOCS.text
    ended = await house.jobs.finished(ANN, job.id, 10)
    assert ended.state is JobState.COMPLETED
    assert ended.result is not None
    assert ended.result["added"] == 1
    assert (await house.find("quokka"))[0].uri == DOCS.child("a.md")


@pytest.mark.parametrize(
    ("request_", "root"),
    [
        (AddRequest(to=Uri("viking://resources/x/y")), "viking://resources/x/y/note.md"),
        (AddRequest(to=Uri("viking://resources/x/z.md")), "viking://resources/x/z.md"),
        (AddRequest(parent=Uri("viking://resources/p")), "viking://resources/p/note.md"),
        (AddRequest(source_name="n.md"), "viking://resources/n.md"),
        (AddRequest(), "viking://resources/note.md"),
    ],
)
async def test_a_single_file_lands_where_the_request_says(
    house: Household, request_: AddRequest, root: str
) -> None:
    upload = await house.uploads.put(ANN, "note.md", b"# Note\n\ntext")
    job = await house.adding.add_resource(ANN, replace(request_, upload=upload))
    assert (await house.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED
    assert job.spec["root_uri"] == root
    assert await house.browser.read(ANN, Uri(root)) == "# Note\n\ntext"


@pytest.mark.parametrize("place", ["viking://resources", "viking://user/ann", "viking://agent"])
async def test_a_whole_scope_as_target_is_a_parent_and_keeps_what_is_there(
    house: Household, place: str
) -> None:
    kept = Uri(place).child("kept.md")
    await house.writer.write(ANN, kept, "stays", "create")
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs", to=Uri(place)))
    await house.jobs.finished(ANN, job.id, 10)
    assert job.spec["root_uri"] == f"{place}/docs"
    assert await house.browser.read(ANN, kept) == "stays"


async def test_adds_to_the_same_place_are_carried_out_in_the_order_they_came(
    house: Household,
) -> None:
    class Slow(MemorySource):
        async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
            await asyncio.sleep(0.1)
            return await super().read(paths)

    house.folders.sources["/v1"] = Slow({"a.md": b"version one", "gone.md": b"old"}, "docs")
    house.folders.sources["/v2"] = MemorySource({"a.md": b"version two"}, "docs")
    first = await house.adding.add_resource(ANN, AddRequest(path="/v1", to=DOCS))
    second = await house.adding.add_resource(ANN, AddRequest(path="/v2", to=DOCS))
    for job in (second, first):
        assert (await house.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED
    assert await house.browser.read(ANN, DOCS.child("a.md")) == "version two"
    assert await house.addresses() == ["a.md"]


async def test_a_path_the_server_was_started_with_is_no_path_for_callers(house: Household) -> None:
    house.served.sources["/own"] = MemorySource({"a.md": b"the quokka"}, "own")
    with pytest.raises(NotFoundError):
        await house.adding.add_resource(ANN, AddRequest(path="/own"))
    job = await house.adding.add_resource(ANN, AddRequest(path="/own"), own=True)
    assert (await house.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED


async def test_a_job_that_breaks_off_ends_as_failed_and_stays_so(
    house: Household, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(MemorySource):
        async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
            raise ZeroDivisionError(paths)

    house.folders.sources["/bad"] = Broken({"a.md": b"x"}, "bad")
    job = await house.adding.add_resource(ANN, AddRequest(path="/bad"))
    ended = await house.jobs.finished(ANN, job.id, 10)
    assert ended.state is JobState.FAILED
    assert "internal error" in (ended.error or "")
    assert "broke off" in caplog.text
    assert await house.job_store.unfinished() == []
    again = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    assert (await house.jobs.finished(ANN, again.id, 10)).state is JobState.COMPLETED


class FullDisk(MemoryJobStore):
    """A store that takes nothing for some calls, when it is told so."""

    refusals = 0

    async def save(self, job: Job) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise DiskRefusesError("is full")
        await super().save(job)


async def test_a_job_that_finds_the_disk_full_waits_for_room_and_is_done_then(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jobs, "_ROOM_SECONDS", 0.01)

    class Filling(MemorySource):
        async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
            if store.refusals > 0:
                raise DiskRefusesError("is full")
            return await super().read(paths)

    store = FullDisk()
    async with household(job_store=store) as house:
        house.folders.sources["/docs"] = Filling({"a.md": b"the quokka"}, "docs")
        job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
        store.refusals = 6
        ended = await house.jobs.finished(ANN, job.id, 10)
        assert (ended.state, ended.error) == (JobState.COMPLETED, None)
        assert await house.browser.read(ANN, DOCS.child("a.md")) == "the quokka"
        assert caplog.text.count("waits for the disk") == 1
        saved = await store.get(ANN, job.id)
        assert saved is not None
        assert saved.state is JobState.COMPLETED


async def test_the_end_of_a_job_is_saved_as_soon_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "_ROOM_SECONDS", 0.01)

    class Last(MemorySource):
        async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
            store.refusals = 20
            return await super().read(paths)

    store = FullDisk()
    async with household(job_store=store) as house:
        house.folders.sources["/docs"] = Last({"a.md": b"the quokka"}, "docs")
        job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
        assert (await house.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED
        while await store.unfinished():  # noqa: ASYNC110 - nobody tells of the store
            await asyncio.sleep(0.01)


async def test_cancelling_on_a_full_disk_ends_soon_and_is_saved_when_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "_ROOM_SECONDS", 0.01)
    monkeypatch.setattr(jobs, "_ENDING_SECONDS", 0.05)

    class Endless(MemorySource):
        async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
            reading.set()
            await asyncio.Event().wait()
            return await super().read(paths)

    reading = asyncio.Event()
    store = FullDisk()
    async with household(job_store=store) as house:
        house.folders.sources["/docs"] = Endless({"a.md": b"the quokka"}, "docs")
        job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
        await reading.wait()
        store.refusals = 1_000_000
        async with asyncio.timeout(10):
            await house.jobs.cancel(ANN, job.id)
        store.refusals = 0
        while await store.unfinished():  # noqa: ASYNC110 - nobody tells of the store
            await asyncio.sleep(0.01)
        saved = await store.get(ANN, job.id)
        assert saved is not None
        assert saved.state is JobState.CANCELLED


async def test_a_job_whose_database_is_away_is_done_when_it_is_back(
    house: Household, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jobs, "_ROOM_SECONDS", 0.01)

    class Away(MemorySource):
        times = 3

        async def read(self, paths: Sequence[str]) -> Sequence[bytes | ContextFindError]:
            if self.times > 0:
                self.times -= 1
                raise StoreDownError("the database does not answer")
            return await super().read(paths)

    house.folders.sources["/docs"] = Away({"a.md": b"the quokka"}, "docs")
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    assert (await house.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED
    assert await house.browser.read(ANN, DOCS.child("a.md")) == "the quokka"
    assert caplog.text.count("waits for the database") == 1


async def test_an_upload_is_forgotten_after_its_job(house: Household) -> None:
    upload = await house.uploads.put(ANN, "note.md", b"text")
    job = await house.adding.add_resource(ANN, AddRequest(upload=upload))
    await house.jobs.finished(ANN, job.id, 10)
    with pytest.raises(NotFoundError):
        await house.adding.add_resource(ANN, AddRequest(upload=upload))


async def test_what_cannot_be_added_is_refused_before_a_job_exists(house: Household) -> None:
    with pytest.raises(InvalidArgumentError, match="exactly one"):
        await house.adding.add_resource(ANN, AddRequest())
    with pytest.raises(NotFoundError):
        await house.adding.add_resource(ANN, AddRequest(path="/nope"))
    with pytest.raises(InvalidUriError):
        await house.adding.add_resource(ANN, AddRequest(path="/docs", to=Uri("viking://user")))
    assert await house.jobs.list(ANN, 10) == []


async def test_an_unfinished_job_of_a_former_process_is_carried_out(house: Household) -> None:
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    await house.jobs.finished(ANN, job.id, 10)
    left = replace(job, id="left", state=JobState.RUNNING)
    await house.job_store.save(left)
    assert await house.jobs.resume() == 1
    assert (await house.jobs.finished(ANN, "left", 10)).state is JobState.COMPLETED


class Baking:
    """An errand of another kind: waits until the oven is hot."""

    kind = "bake"

    def __init__(self) -> None:
        self.hot = asyncio.Event()
        self.begun: list[str] = []
        self.started = asyncio.Event()
        self.over: list[tuple[str, JobState]] = []
        self.stuck = False

    def place(self, job: Job) -> Uri:
        return Uri.parse(str(job.spec["where"]))

    async def carry_out(self, job: Job, course: Course) -> Mapping[str, object]:
        await course.come()
        self.begun.append(job.id)
        await course.note("baking", 1, 2)
        self.started.set()
        await self.hot.wait()
        return {"loaves": 2}

    async def ended(self, job: Job) -> None:
        self.over.append((job.id, job.state))
        if self.stuck:
            raise UnavailableError("the shelf does not answer")


async def test_other_kinds_of_job_are_carried_out_by_their_own_errand(house: Household) -> None:
    baking = Baking()
    house.jobs.take_on(baking)
    job = await house.jobs.start(ANN, "bake", {"where": "viking://user/ann/oven"})
    assert job.state is JobState.PENDING
    await house.jobs.start(ANN, "bake", {"where": "viking://user/ann/oven"})
    await baking.started.wait()
    seen = await house.jobs.get(ANN, job.id)
    assert (seen.state, seen.stage, seen.done, seen.total) == (JobState.RUNNING, "baking", 1, 2)
    assert baking.begun == [job.id]  # the second waits: it is about the same place
    baking.hot.set()
    ended = await house.jobs.finished(ANN, job.id, 10)
    assert (ended.state, ended.result) == (JobState.COMPLETED, {"loaves": 2})
    assert baking.over[0] == (job.id, JobState.COMPLETED)


async def test_the_errand_of_a_cancelled_job_may_tidy_up(house: Household) -> None:
    baking = Baking()
    house.jobs.take_on(baking)
    job = await house.jobs.start(ANN, "bake", {"where": "viking://user/ann/oven"})
    await house.jobs.cancel(ANN, job.id)
    assert baking.over == [(job.id, JobState.CANCELLED)]


async def test_a_job_that_cannot_tidy_up_has_ended_all_the_same(
    house: Household, caplog: pytest.LogCaptureFixture
) -> None:
    baking = Baking()
    baking.hot.set()
    baking.stuck = True
    house.jobs.take_on(baking)
    job = await house.jobs.start(ANN, "bake", {"where": "viking://user/ann/oven"})
    assert (await house.jobs.finished(ANN, job.id, 10)).state is JobState.COMPLETED
    again = await house.jobs.start(ANN, "bake", {"where": "viking://user/ann/oven"})
    assert (await house.jobs.finished(ANN, again.id, 10)).state is JobState.COMPLETED
    assert f"task {job.id} has ended and could not tidy up: the shelf" in caplog.text
    assert "broke off" not in caplog.text


async def test_an_unfinished_job_of_an_unknown_kind_stays_as_it_is(
    house: Household, caplog: pytest.LogCaptureFixture
) -> None:
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    ended = await house.jobs.finished(ANN, job.id, 10)
    strange = replace(ended, id="strange", kind="brew", state=JobState.RUNNING)
    await house.job_store.save(strange)
    assert await house.jobs.resume() == 0
    assert "unknown kind 'brew'" in caplog.text
    assert await house.jobs.get(ANN, "strange") == strange
    assert await house.job_store.unfinished() == [strange]


async def test_a_job_is_seen_by_its_own_user_only(house: Household) -> None:
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    with pytest.raises(NotFoundError):
        await house.jobs.get(BEN, job.id)
    await house.jobs.finished(ANN, job.id, 10)
    with pytest.raises(NotFoundError):
        await house.jobs.get(BEN, job.id)


async def test_waiting_ends_with_the_way_to_ask_again(house: Household) -> None:
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    with pytest.raises(DeadlineExceededError, match=job.id):
        await house.jobs.finished(ANN, job.id, 0)


async def test_waiting_tells_its_time_as_people_do(house: Household) -> None:
    baking = Baking()
    house.jobs.take_on(baking)
    job = await house.jobs.start(ANN, "bake", {"where": "viking://user/ann/oven"})
    with pytest.raises(DeadlineExceededError, match=r"after 0\.01 s and goes on"):
        await house.jobs.finished(ANN, job.id, 0.0099974)


async def test_a_cancelled_job_says_so(house: Household) -> None:
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    assert (await house.jobs.cancel(ANN, job.id)).state is JobState.CANCELLED
    assert (await house.jobs.get(ANN, job.id)).state is JobState.CANCELLED


class StuckEmbedder(FakeEmbedder):
    """Answers queries and never a document."""

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        if purpose == "document":
            await asyncio.Event().wait()
        return await super().embed(inputs, purpose)


async def test_files_are_found_by_words_while_earlier_jobs_wait_for_the_embedder() -> None:
    async with household(StuckEmbedder()) as house:
        for number in range(5):
            name = f"docs{number}"
            source = MemorySource({"a.md": f"quokka number {number}".encode()}, name)
            house.folders.sources[name] = source
            await house.adding.add_resource(ANN, AddRequest(path=name))
        files: set[Uri] = set()
        for _ in range(200):
            files = {hit.uri for hit in await house.find("quokka") if hit.level is Level.DETAIL}
            if len(files) == 5:
                break
            await asyncio.sleep(0.02)
        assert len(files) == 5


async def test_a_dead_embedder_ends_the_job_with_a_note_and_words_find_the_file() -> None:
    embedder = FakeEmbedder()
    embedder.down = UnavailableError("no answer")
    async with household(embedder) as house:
        house.folders.sources["/docs"] = MemorySource({"a.md": b"the quokka"}, "docs")
        job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
        ended = await house.jobs.finished(ANN, job.id, 10)
        assert ended.result is not None
        assert "wait for the embedder" in str(ended.result["note"])
        assert (await house.find("quokka"))[0].uri == DOCS.child("a.md")


async def test_a_job_is_at_work_around_its_place_until_its_files_are_committed(
    house: Household,
) -> None:
    job = await house.adding.add_resource(ANN, AddRequest(path="/docs"))
    for place in (DOCS, DOCS.child("a.md"), Uri("viking://resources")):
        assert await house.jobs.at_work(ANN.account, place)
    assert not await house.jobs.at_work(ANN.account, Uri("viking://agent"))
    assert not await house.jobs.at_work("bolt", DOCS)
    await house.jobs.finished(ANN, job.id, 10)
    assert not await house.jobs.at_work(ANN.account, DOCS)
