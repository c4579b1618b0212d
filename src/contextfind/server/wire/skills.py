"""skills: what is sent, and which skills are meant."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from contextfind.domain.filters import all_of
from contextfind.domain.identity import Identity
from contextfind.domain.queries import FindQuestion
from contextfind.domain.skills import own_skills, skill_root, skill_roots
from contextfind.domain.uri import Uri
from contextfind.retrieval.skills import SKILL_FILTER
from contextfind.server.wire.body import (
    Body,
    OptionalPlace,
    Params,
    Tags,
    Telemetry,
    Text,
    optional_address,
    shown,
    whole_characters,
    wrong,
)
from contextfind.server.wire.content import Waiting
from contextfind.server.wire.find import FindBody, Limit, question_of

MAX_NODES = 10_000  # skills of one answer, as for listings
DEFAULT_NODES = 1_000

_WHERE = "A directory of skills: `viking://~/skills` (the caller's own) or `viking://agent/skills`"
Root = Annotated[OptionalPlace, Field(description=f"{_WHERE}; absent is both, the own ones first.")]


def _skill(value: object) -> object:
    """Take a text of whole characters, or an object; what is in it is judged where skills are known."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        return whole_characters(value)
    raise PydanticCustomError("skill", "expected the text of a SKILL.md, or an object of its parts")


Data = Annotated[
    str | dict[str, Any] | None,
    BeforeValidator(_skill),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
    Field(
        description="The text of a SKILL.md, or its parts: `name`, `description`, `content`; others "
        "become lines of the front matter."
    ),
]
Upload = Annotated[
    Text,
    Field(description="From resources/temp_upload: a SKILL.md, or a zip with one or more skills."),
]


class SkillBody(Waiting):
    """A skill, or an upload with one or several; exactly one of data and temp_file_id."""

    data: Data = None
    temp_file_id: Upload = ""
    target_uri: Annotated[
        OptionalPlace,
        Field(description=f"{_WHERE}, which the account shares; absent is the former."),
    ] = ""


class JudgeBody(Body):
    """A skill to be judged; exactly one of data and temp_file_id."""

    data: Data = None
    temp_file_id: Upload = ""
    strict: Annotated[bool, Field(description="Whether a warning makes it invalid, too.")] = False


class SkillFindBody(Body):
    """What a skill is wanted for."""

    query: Annotated[Text, Field(description="What is to be done; blank is every skill.")] = ""
    target_uri: Root = ""
    limit: Annotated[Limit, Field(description="The most skills.")] = 10
    node_limit: Annotated[Limit | None, Field(description="Another name of `limit`; it wins.")] = (
        None
    )
    score_threshold: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Field(description="Skills with a lower score are left out; absent is no cut."),
    ] = None
    tags: Annotated[Tags, Field(description="`key=value` each, all must hold.")] = Field(
        default_factory=list
    )
    telemetry: Annotated[Telemetry, Field(description="Add what was measured.")] = False


class RootParams(Params):
    """Where to look."""

    target_uri: Root = ""


class ListParams(RootParams):
    """Which skills are listed."""

    node_limit: Annotated[
        int, Field(ge=1, le=MAX_NODES, description="The most skills that are shown.")
    ] = DEFAULT_NODES


def source_of(body: SkillBody | JudgeBody) -> str | dict[str, Any] | None:
    """Return the data of a body, None when it names an upload.

    Raises:
        InvalidArgumentError: both, or neither.

    """
    if (body.data is None) == (not body.temp_file_id):
        raise wrong(
            "data",
            body.data,
            "exactly one of data (a SKILL.md, or its parts) and temp_file_id (from "
            f"resources/temp_upload, which is {shown(body.temp_file_id)})",
        )
    return body.data


def place_for(body: SkillBody, identity: Identity) -> Uri:
    """Return the directory that a skill is added to; without a target it is the caller's own.

    Raises:
        InvalidArgumentError: it is no directory of skills. InvalidUriError: it is no address.
        PermissionDeniedError: another user's tree.

    """
    named = optional_address("target_uri", body.target_uri, identity)
    return own_skills(identity.user) if named is None else skill_root(identity, named)


def roots_of(target_uri: str, identity: Identity) -> Sequence[Uri]:
    """Return the directories of skills to look in; raises as `place_for` does."""
    named = optional_address("target_uri", target_uri, identity)
    return skill_roots(identity.user) if named is None else [skill_root(identity, named)]


def skill_question(body: SkillFindBody, identity: Identity, now: datetime) -> FindQuestion:
    """Return the find that asks for the files of skills."""
    asked = FindBody(
        query=body.query,
        target_uri=[body.target_uri],
        context_type=["skill"],
        limit=body.limit,
        node_limit=body.node_limit,
        score_threshold=body.score_threshold,
        tags=body.tags,
    )
    question = question_of(asked, identity, now)
    return replace(question, where=all_of(question.where, SKILL_FILTER))
