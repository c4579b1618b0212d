"""Skills: descriptions of how something is done, each a directory with a SKILL.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextfind.client.adding import sent
from contextfind.client.answers import Removed, Told
from contextfind.client.envelope import API, result, segment
from contextfind.client.exchange import Request
from contextfind.client.flow import Flow, ask
from contextfind.client.standing import WAIT_MARGIN

_SKILLS = f"{API}/skills"
WAIT_TIMEOUT = 300.0  # seconds until a skill can be found: one directory, behind what came before


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill(Told):
    """A skill; what is not in a list is empty there.

    skill_md_uri: its text. files: what lies beside it. score, match_reason: of a find.
    """

    name: str
    uri: str
    skill_md_uri: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    score: float | None = None
    match_reason: str = ""
    abstract: str = ""
    overview: str = ""
    content: str = ""
    files: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Skills(Told):
    """Skills, by name or best first; `total` counts them."""

    skills: tuple[Skill, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedSkill(Told):
    """A skill that was added, or several of one upload: then the first, and all in `skills`.

    status: success, or partial when something is in `errors`.
    """

    name: str
    uri: str
    status: str = ""
    skill_md_uri: str = ""
    auxiliary_files: int = 0
    task_id: str = ""
    skills: tuple[Skill, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def add_skill(
    source: str | Path,
    *,
    target_uri: str | None = None,
    wait: bool = True,
    timeout: float = WAIT_TIMEOUT,
) -> Flow[AddedSkill]:
    """Add a skill; with `wait` it can be found then, at the latest after `timeout` seconds.

    source: the text of a SKILL.md (a text with line breaks), or the path of one, of a directory with
    one or more skills, or of a zip. target_uri: `viking://agent/skills` shares it in the account; None
    makes it your own. A skill of the same name is replaced.
    """
    body: dict[str, object] = {"wait": wait, "timeout": timeout}
    if target_uri is not None:
        body["target_uri"] = target_uri
    if isinstance(source, str) and "\n" in source:
        body["data"] = source
    else:
        body["temp_file_id"] = yield from sent(source)
    until = timeout + WAIT_MARGIN if wait else None
    request = Request("POST", _SKILLS, result(AddedSkill), body=body, timeout=until)
    return (yield from ask(request))


def list_skills(target_uri: str | None = None) -> Flow[Skills]:
    """Return the skills you can use, by name: your own and the account's, or those in one place."""
    return ask(Request("GET", _SKILLS, result(Skills), _place(target_uri), again=True))


def get_skill(name: str, target_uri: str | None = None) -> Flow[Skill]:
    """Return a skill with its text (`content`) and files; NotFoundError when there is none."""
    path = f"{_SKILLS}/{segment(name)}"
    return ask(Request("GET", path, result(Skill), _place(target_uri), again=True))


def delete_skill(name: str, target_uri: str | None = None) -> Flow[Removed]:
    """Remove a skill with its files; what is not there is no error (a count of 0)."""
    path = f"{_SKILLS}/{segment(name)}"
    return ask(Request("DELETE", path, result(Removed), _place(target_uri)))


def find_skills(
    query: str,
    limit: int = 10,
    *,
    score_threshold: float | None = None,
    target_uri: str | None = None,
) -> Flow[Skills]:
    """Return the skills that fit a task best, with their scores."""
    body: dict[str, object] = {"query": query, "limit": limit, **_place(target_uri)}
    if score_threshold is not None:
        body["score_threshold"] = score_threshold
    return ask(Request("POST", f"{_SKILLS}/find", result(Skills), body=body, again=True))


def _place(target_uri: str | None) -> dict[str, str]:
    return {} if target_uri is None else {"target_uri": target_uri}
