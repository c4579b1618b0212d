"""skills: what is answered."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # before 3.12 pydantic takes no other

from contextfind.domain.results import MatchedContext
from contextfind.domain.skills import SKILL_FILE, SkillHead
from contextfind.domain.uri import Uri
from contextfind.ingestion.settling import Settled
from contextfind.ingestion.skill_parcels import Parcel
from contextfind.ingestion.skills import SkillBatch
from contextfind.retrieval.browsing import Entry
from contextfind.retrieval.skills import Skill, SkillList, SkillPage
from contextfind.server.skills import SkillOutcome
from contextfind.server.wire.answers import Address, Amount, Queues, exact
from contextfind.server.wire.content import queue_status

_NAMED = 10  # files named in a warning, enough to see what was forgotten


@exact
class SkillLine(TypedDict):
    """One skill; `uri` is its directory, `root_uri` the directory of skills it lies in."""

    type: Literal["skill"]
    name: str
    uri: Address
    root_uri: Address
    skill_md_uri: Address
    description: Annotated[str, Field(description="What it is for, from its front matter.")]
    tags: list[str]
    allowed_tools: list[str]


@exact
class Skills(TypedDict):
    """Skills by name, then by address."""

    root_uris: Annotated[list[Address], Field(description="Where was looked.")]
    skills: list[SkillLine]
    total: Annotated[Amount, Field(description="How many there are, shown or not.")]


@exact
class SkillFile(TypedDict):
    """A file or directory of a skill; `path` is below the skill."""

    name: str
    uri: Address
    path: str
    is_dir: bool
    kind: Literal["skill_md", "auxiliary", "directory"]


class WholeSkill(SkillLine):
    """All of a skill."""

    abstract: str
    overview: str
    content: Annotated[str, Field(description="The text of its SKILL.md.")]
    content_sha256: Annotated[str, Field(description="Of that text as UTF-8, 64 hex digits.")]
    files: list[SkillFile]


class FoundSkill(SkillLine):
    """A skill that was found."""

    score: Annotated[float, Field(ge=0, le=1, description="0 when there was no query.")]
    match_reason: Annotated[str, Field(description="Why it is here, in words.")]
    level: Literal[2]
    abstract: str


@exact
class FoundSkills(TypedDict):
    """Skills, best first, ties by address."""

    root_uris: Annotated[list[Address], Field(description="Where was looked.")]
    skills: list[FoundSkill]
    total: Annotated[Amount, Field(description="How many are shown.")]


@exact
class OneAdded(TypedDict):
    """What became of one skill: written, still a task, or failed behind the request."""

    name: str
    uri: Address
    root_uri: Address
    skill_md_uri: Address
    status: Literal["success", "accepted", "failed"]
    auxiliary_files: Annotated[int, Field(ge=0, description="Files that came with its SKILL.md.")]
    task_id: NotRequired[Annotated[str, Field(description="Of a skill from a zip.")]]


@exact
class NotAdded(TypedDict):
    """Something in an upload that was not added."""

    path: str
    reason: str


@exact
class AddedSkills(TypedDict):
    """Skills that were added; the fields of the first one stand at the top, too."""

    status: Annotated[
        Literal["success", "partial"], Field(description="`partial`: something is in `failed`.")
    ]
    name: str
    uri: Address
    root_uri: Address
    skill_md_uri: Address
    auxiliary_files: Amount
    task_id: NotRequired[str]
    root_uris: list[Address]
    skills: list[OneAdded]
    failed: list[NotAdded]
    errors: list[str]
    warnings: list[str]
    queue_status: NotRequired[Annotated[Queues, Field(description="With `wait`.")]]


@exact
class Judgement(TypedDict):
    """What a skill says of itself, and whether it can be added; of several, all of it together."""

    valid: bool
    strict: bool
    name: str
    description: str
    tags: list[str]
    allowed_tools: list[str]
    body_lines: Amount
    source_path: Annotated[str, Field(description="In the upload; empty for data.")]
    skill_dir_name: Annotated[str, Field(description="Its directory in the upload.")]
    errors: list[str]
    warnings: list[str]


@exact
class GoneSkill(TypedDict):
    """A skill that was removed; 0 when there was none."""

    name: str
    uri: Address
    root_uri: Address
    estimated_deleted_count: Amount


def listed(found: SkillList, roots: Sequence[Uri]) -> dict[str, object]:
    """Return the `result` of a listing."""
    return {
        "root_uris": [root.text for root in roots],
        "skills": [_line(skill) for skill in found.skills],
        "total": found.total,
    }


def whole(page: SkillPage) -> dict[str, object]:
    """Return the `result` of one skill."""
    return {
        **_line(page.skill),
        "abstract": page.skill.abstract,
        "overview": page.overview,
        "content": page.content,
        "content_sha256": page.skill.digest,
        "files": [_file(entry, page.skill) for entry in page.files],
    }


def found_skills(
    hits: Iterable[tuple[MatchedContext, Skill]], roots: Sequence[Uri]
) -> dict[str, object]:
    """Return the `result` of a find among skills."""
    shown = [
        {
            **_line(skill),
            "score": float(hit.score),
            "match_reason": hit.match_reason,
            "level": hit.level.value,
            "abstract": hit.abstract,
        }
        for hit, skill in hits
    ]
    return {"root_uris": [root.text for root in roots], "skills": shown, "total": len(shown)}


def added(
    batch: SkillBatch, outcomes: Sequence[SkillOutcome], *, waited: bool
) -> dict[str, object]:
    """Return the `result` of an add."""
    lines = [_one_added(outcome) for outcome in outcomes]
    failed = [{"path": one.path, "reason": one.reason} for one in batch.refused]
    for outcome in outcomes:
        failed += [{"path": p, "reason": r} for p, r in outcome.failed]
    result: dict[str, object] = {
        **{name: told for name, told in lines[0].items() if name != "status"},
        "status": "partial" if failed else "success",
        "root_uris": list(dict.fromkeys(line["root_uri"] for line in lines)),
        "skills": lines,
        "failed": failed,
        "errors": [f"{one['path']}: {one['reason']}" for one in failed],
        "warnings": [*(line for one in outcomes for line in one.warnings), *_outside(batch)],
    }
    note = next((outcome.note for outcome in outcomes if outcome.note), "")
    return {**result, "queue_status": queue_status(Settled(0, 0, note))} if waited else result


def judged(head: SkillHead, *, strict: bool) -> dict[str, object]:
    """Return the `result` of judging a skill that was sent as data."""
    return {
        "valid": not head.errors and not (strict and head.warnings),
        "strict": strict,
        "name": head.name,
        "description": head.description,
        "tags": list(head.tags),
        "allowed_tools": list(head.allowed_tools),
        "body_lines": head.body_lines,
        "source_path": "",
        "skill_dir_name": "",
        "errors": list(head.errors),
        "warnings": list(head.warnings),
    }


def judged_parcels(parcels: Sequence[Parcel], *, strict: bool) -> dict[str, object]:
    """Return the `result` of judging an upload: of the first skill, valid only if all are."""
    each = [judged(parcel.head, strict=strict) for parcel in parcels]
    several = len(parcels) > 1
    return {
        **each[0],
        "valid": all(one["valid"] for one in each),
        "source_path": parcels[0].file,
        "skill_dir_name": parcels[0].folder.rpartition("/")[2],
        "errors": [
            f"{one.file}: {line}" if several else line
            for one in parcels
            for line in one.head.errors
        ],
        "warnings": [
            f"{one.file}: {line}" if several else line
            for one in parcels
            for line in one.head.warnings
        ],
    }


def gone(uri: Uri, removed: int) -> dict[str, object]:
    """Return the `result` of a removal."""
    root = uri.parent or uri
    return {
        "name": uri.name,
        "uri": uri.text,
        "root_uri": root.text,
        "estimated_deleted_count": removed,
    }


def _outside(batch: SkillBatch) -> Sequence[str]:
    """Return what to say of files that belong to no skill."""
    if not batch.outside:
        return []
    named = ", ".join(batch.outside[:_NAMED])
    left = len(batch.outside) - _NAMED
    more = f", and {left} more" if left > 0 else ""
    return [f"left out, for it belongs to no skill: {named}{more}"]


def _line(skill: Skill) -> dict[str, object]:
    return {
        "type": "skill",
        "name": skill.name,
        "uri": skill.uri.text,
        "root_uri": skill.root.text,
        "skill_md_uri": skill.file.text,
        "description": skill.description,
        "tags": list(skill.tags),
        "allowed_tools": list(skill.allowed_tools),
    }


def _file(entry: Entry, skill: Skill) -> dict[str, object]:
    kind = "directory" if entry.is_directory else "auxiliary"
    return {
        "name": entry.uri.name,
        "uri": entry.uri.text,
        "path": entry.uri.text[len(skill.uri.folder) :],
        "is_dir": entry.is_directory,
        "kind": "skill_md" if entry.uri == skill.file else kind,
    }


def _one_added(outcome: SkillOutcome) -> dict[str, object]:
    skill, job = outcome.added, outcome.job
    root = skill.uri.parent or skill.uri
    line: dict[str, object] = {
        "name": skill.uri.name,
        "uri": skill.uri.text,
        "root_uri": root.text,
        "skill_md_uri": skill.uri.child(SKILL_FILE).text,
        "status": outcome.status,
        "auxiliary_files": outcome.others,
    }
    return line if job is None else {**line, "task_id": job.id}
