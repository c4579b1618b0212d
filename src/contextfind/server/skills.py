"""What became of the skills of one request, waited for or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from contextfind.domain.errors import FailedPreconditionError
from contextfind.domain.identity import Identity
from contextfind.ingestion.skills import AddedSkill, SkillBatch
from contextfind.ports import Job, JobState
from contextfind.server.house import House
from contextfind.server.waiting import Patience, until_ended, until_settled

_TAKEN = ("added", "updated", "unchanged")  # the counts of a job that are files in the tree


@dataclass(frozen=True, slots=True)
class SkillOutcome:
    """A skill and its job as it was last seen; `note` says what the embedder could not do."""

    added: AddedSkill
    job: Job | None = None
    note: str = ""

    @property
    def status(self) -> Literal["success", "accepted", "failed"]:
        """Whether it is in the tree, will be, or could not be added."""
        if self.job is None or self.job.state is JobState.COMPLETED:
            return "success"
        return "failed" if self.job.state.ended else "accepted"

    @property
    def others(self) -> int:
        """How many files came with its SKILL.md; those of a running job are yet to be read."""
        report = {} if self.job is None else self.job.result or {}
        counts = [count for kind in _TAKEN if isinstance(count := report.get(kind), int)]
        return max(sum(counts) - 1, 0) if counts else self.added.others

    @property
    def failed(self) -> Sequence[tuple[str, str]]:
        """What of it is not in the tree and should be: path and reason."""
        lost = [(one.path, one.reason) for one in self.added.refused]
        if self.job is None:
            return lost
        if self.status == "failed":
            return [*lost, (self.added.uri.name, self.job.error or self.job.state.value)]
        return [*lost, *self._reported("failed")]

    @property
    def warnings(self) -> Sequence[str]:
        """What was left out on purpose, and what other tools may trip over."""
        name = self.added.uri.name
        skipped = [f"{path}: {reason}" for path, reason in self._reported("skipped")]
        return [f"{name}: {line}" for line in self.added.head.warnings] + skipped

    def _reported(self, kind: str) -> Sequence[tuple[str, str]]:
        """Return the files of one kind in the report of the job, with the name of the skill."""
        result: Mapping[str, object] = {} if self.job is None else self.job.result or {}
        files = result.get(kind)
        items = (
            [one for one in files if isinstance(one, Mapping)] if isinstance(files, list) else []
        )
        name = self.added.uri.name
        return [(f"{name}/{one.get('path')}", str(one.get("reason"))) for one in items]


def begun(batch: SkillBatch) -> Sequence[SkillOutcome]:
    """Return what is known of the skills when the request has been taken."""
    return [SkillOutcome(one, one.job) for one in batch.added]


async def until_skills_added(
    house: House, identity: Identity, batch: SkillBatch, patience: Patience
) -> Sequence[SkillOutcome]:
    """Return what became of the skills when all of them can be found.

    Raises:
        DeadlineExceededError: it takes longer; the work goes on.
        UnavailableError: the server is stopping; the work goes on after its restart.
        FailedPreconditionError: none of them could be added.

    """
    ended = [await _ended(house, identity, one, patience) for one in batch.added]
    if all(one.status == "failed" for one in ended):
        told = "; ".join(f"{path}: {reason}" for path, reason in ended[0].failed)
        raise FailedPreconditionError(f"no skill was added: {told}")
    return ended


async def _ended(
    house: House, identity: Identity, added: AddedSkill, patience: Patience
) -> SkillOutcome:
    if added.job is None:
        settled = await until_settled(house, identity, added.uri, patience)
        return SkillOutcome(added, note=settled.note)
    job = await until_ended(house, identity, added.job.id, patience)
    return SkillOutcome(added, job, str((job.result or {}).get("note", "")))
