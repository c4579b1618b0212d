"""A clone goes with whoever waits for it, and takes its job along."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from contextfind.adapters.git.origins import origin_of
from contextfind.domain.errors import DeadlineExceededError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.adding import AddRequest
from contextfind.pipeline.intake import OWNER, Intake
from contextfind.pipeline.sources import Source
from contextfind.ports import Job, JobState
from tests.builders import NOON
from tests.repositories import make_repository

WREN = Uri("viking://resources/wren")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@dataclass
class Waiting:
    """A house whose jobs never begin, until `stage` says otherwise."""

    stage: str = ""
    files: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    looked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def adding(self) -> "Waiting":
        return self

    @property
    def jobs(self) -> "Waiting":
        return self

    async def add_resource(self, who: Identity, request: AddRequest, *, own: bool) -> Job:
        assert own
        assert (who, request.parent, request.source_name) == (OWNER, WREN.parent, "wren")
        self.files = names_in(Path(str(request.path)))
        spec = {"root_uri": WREN.text}
        return Job("j1", OWNER, "add_resource", JobState.PENDING, NOON, NOON, spec=spec)

    async def get(self, who: Identity, job_id: str) -> Job:
        self.looked.set()
        job = await self.add_again(who, job_id)
        return replace(job, stage=self.stage)

    async def add_again(self, who: Identity, job_id: str) -> Job:
        return Job(
            job_id, who, "add_resource", JobState.PENDING, NOON, NOON, spec={"root_uri": WREN.text}
        )

    async def cancel(self, who: Identity, job_id: str) -> Job:
        self.cancelled.append(job_id)
        return await self.add_again(who, job_id)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def wren(tmp_path: Path) -> Source:
    folder = make_repository(tmp_path / "wren", {"a.md": "The wren sings."})
    return Source(WREN, origin=origin_of(folder.as_uri()))


async def test_a_clone_is_removed_once_it_is_read(wren: Source, scratch: Path) -> None:
    house = Waiting(stage="embedding")
    (job,) = await Intake(house, None).start([wren])  # type: ignore[arg-type]
    assert (job.id, job.stage, house.files) == ("j1", "embedding", [".git", "a.md"])
    assert (house.cancelled, names_in(scratch)) == ([], [])


async def test_whoever_is_cancelled_leaves_neither_job_nor_clone(
    wren: Source, scratch: Path
) -> None:
    house = Waiting()
    task = asyncio.create_task(Intake(house, None).start([wren]))  # type: ignore[arg-type]
    await house.looked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (house.cancelled, names_in(scratch)) == (["j1"], [])


async def test_a_clone_that_nobody_reads_in_time_is_given_up(wren: Source, scratch: Path) -> None:
    house = Waiting()
    with pytest.raises(DeadlineExceededError, match=r"add it again|git needed more"):
        await Intake(house, 0.5).start([wren])  # type: ignore[arg-type]
    assert house.cancelled == (["j1"] if house.files else [])
    assert names_in(scratch) == []
