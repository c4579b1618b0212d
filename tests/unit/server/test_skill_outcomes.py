"""What is told of skills whose jobs end in different ways."""

import asyncio
from typing import Any, cast

import pytest

from contextfind.domain.errors import FailedPreconditionError
from contextfind.domain.identity import Identity
from contextfind.domain.skills import SkillHead, own_skills
from contextfind.ingestion.skill_parcels import Refused
from contextfind.ingestion.skills import AddedSkill, SkillBatch
from contextfind.ports import Job, JobState
from contextfind.server.closing import Closing
from contextfind.server.house import House
from contextfind.server.skills import SkillOutcome, begun, until_skills_added
from contextfind.server.waiting import Patience
from contextfind.server.wire.skill_answers import added
from tests.builders import NOON

ANN = Identity("acme", "ann")


def job(name: str, state: JobState = JobState.RUNNING, **fields: Any) -> Job:
    return Job(name, ANN, "add_resource", state, NOON, NOON, **fields)


def skill(name: str, *refused: Refused, warnings: tuple[str, ...] = ()) -> AddedSkill:
    head = SkillHead(name, "what it is for", warnings=warnings)
    return AddedSkill(own_skills("ann").child(name), head, 2, job(name), refused)


class Jobs:
    """Ends every job as it was told to."""

    def __init__(self, *ends: Job) -> None:
        self.ends = {end.id: end for end in ends}

    async def finished(self, who: Identity, job_id: str, timeout: float | None) -> Job:  # noqa: ASYNC109
        assert who == ANN
        assert timeout is not None
        return self.ends[job_id]


class Home:
    def __init__(self, *ends: Job) -> None:
        self.jobs = Jobs(*ends)


async def ended(batch: SkillBatch, *ends: Job) -> Any:
    house = cast("House", Home(*ends))
    patience = Patience(5, asyncio.get_running_loop().time() + 5, Closing())
    return await until_skills_added(house, ANN, batch, patience)


async def test_a_batch_that_is_not_waited_for_is_accepted() -> None:
    batch = SkillBatch([skill("a", warnings=("odd name",))], [Refused("b/SKILL.md", "no name")])
    told = added(batch, begun(batch), waited=False)
    assert told["status"] == "partial"
    assert told["skills"] == [
        {
            "name": "a",
            "uri": "viking://user/ann/skills/a",
            "root_uri": "viking://user/ann/skills",
            "skill_md_uri": "viking://user/ann/skills/a/SKILL.md",
            "status": "accepted",
            "auxiliary_files": 2,
            "task_id": "a",
        }
    ]
    assert told["errors"] == ["b/SKILL.md: no name"]
    assert told["warnings"] == ["a: odd name"]
    assert "queue_status" not in told


async def test_one_that_fails_is_named_beside_the_good_ones() -> None:
    outside = [f"{number}.md" for number in range(12)]
    batch = SkillBatch([skill("a"), skill("b", Refused("b/x.md", "damaged"))], (), outside)
    report = {
        "failed": [{"path": "y.md", "reason": "in the way"}],
        "skipped": [{"path": "z.png", "reason": "binary"}],
        "note": "the embedder is down",
        "added": 1,
        "updated": 1,
        "unchanged": 3,
        "removed": 9,
    }
    outcomes = await ended(
        batch,
        job("a", JobState.FAILED, error="broken"),
        job("b", JobState.COMPLETED, result=report),
    )
    told = added(batch, outcomes, waited=True)
    assert told["status"] == "partial"
    lines = cast("list[dict[str, Any]]", told["skills"])
    assert [(one["status"], one["auxiliary_files"]) for one in lines] == [
        ("failed", 2),
        ("success", 4),
    ]
    assert told["failed"] == [
        {"path": "a", "reason": "broken"},
        {"path": "b/x.md", "reason": "damaged"},
        {"path": "b/y.md", "reason": "in the way"},
    ]
    binary, left_out = cast("list[str]", told["warnings"])
    assert binary == "b/z.png: binary"
    assert left_out.startswith("left out, for it belongs to no skill: 0.md, 1.md, ")
    assert left_out.endswith(", 9.md, and 2 more")
    queues = cast("dict[str, Any]", told["queue_status"])
    assert queues["Embedding"]["errors"] == ["the embedder is down"]


async def test_when_all_fail_that_is_no_success() -> None:
    batch = SkillBatch([skill("a"), skill("b")])
    with pytest.raises(FailedPreconditionError, match="no skill was added: a: cancelled"):
        await ended(batch, job("a", JobState.CANCELLED), job("b", JobState.FAILED, error="broken"))


def test_a_skill_without_a_job_is_there() -> None:
    one = SkillOutcome(AddedSkill(own_skills("ann").child("a"), SkillHead("a", "b")))
    assert (one.status, one.failed, one.warnings) == ("success", [], [])
