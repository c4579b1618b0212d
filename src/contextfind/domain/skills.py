"""Skills: where they lie, and what a SKILL.md must say of itself."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from contextfind.domain.errors import InvalidArgumentError, InvalidUriError
from contextfind.domain.identity import Identity
from contextfind.domain.plain_text import plain_text
from contextfind.domain.records import split_level
from contextfind.domain.scope import check_reach
from contextfind.domain.tags import parse_tags
from contextfind.domain.uri import Uri

SKILL_FILE = "SKILL.md"
SPELLINGS = frozenset({SKILL_FILE, "Skill.md", "skill.md"})  # as people write it by hand
SHARED_SKILLS = Uri("viking://agent/skills")

LONGEST_NAME = 64  # characters that tools of this format show and accept
LONGEST_DESCRIPTION = 1_024  # the same
_LARGEST = 10**18  # a number beyond is no name, and endless ones cannot even be spelled
_SHOWN = 80  # characters of a wrong name that a message repeats
_USUAL_NAME = re.compile(r"[^\W_A-Z]+(?:-[^\W_A-Z]+)*")
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")  # Read, Bash(git add:*)


@dataclass(frozen=True, slots=True)
class SkillHead:
    """What a SKILL.md says of itself.

    name, description: on one line, empty when missing. tags: those that are `key=value`.
    body_lines: lines below the front matter, without blank ones at both ends.
    errors: why it is no skill, none for a good one. warnings: what other tools may trip over.
    """

    name: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    body_lines: int = 0
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def own_skills(user: str) -> Uri:
    """Return the directory of the skills that a user has alone."""
    return Uri(f"viking://user/{user}/skills")


def skill_roots(user: str) -> tuple[Uri, Uri]:
    """Return where the skills lie that a user sees, the first one first when names are equal."""
    return own_skills(user), SHARED_SKILLS


def skill_root(identity: Identity, uri: Uri) -> Uri:
    """Return `uri` when it is a directory of skills that this caller may use.

    Raises:
        PermissionDeniedError: it lies in another user's tree. InvalidArgumentError: it is none.

    """
    check_reach(identity, uri)
    roots = skill_roots(identity.user)
    if uri not in roots:
        expected = " or ".join(root.text for root in roots)
        raise InvalidArgumentError(
            f"target_uri is {uri.text!r}; expected {expected}, which hold the skills",
            {"field": "target_uri", "value": uri.text},
        )
    return uri


def skill_of(file: Uri) -> Uri | None:
    """Return the directory of the skill whose SKILL.md this is; None for any other address."""
    skill = file.parent
    root = None if skill is None else skill.parent
    if skill is None or root is None or file.name not in SPELLINGS:
        return None
    return skill if root in (SHARED_SKILLS, own_skills(file.owner)) else None


def read_head(values: Mapping[object, object], body: str) -> SkillHead:
    """Return what a front matter says, judged; it never raises.

    values: as the front matter has them; only texts and lists of texts are looked at.
    """
    name = _line(values.get("name"))
    description = " ".join(plain_text(_line(values.get("description"))).split())
    tags, tag_warnings = _tags(values.get("tags"))
    tools = _listed(values.get("allowed-tools", values.get("allowed_tools")), _TOOL.findall)
    lines = body.strip().splitlines()
    doubtful = [
        *_name_warnings(name),
        *tag_warnings,
        *_if(tools is None, "allowed-tools is no text and no list of texts, and is not shown"),
        *_if(
            len(description) > LONGEST_DESCRIPTION,
            f"description has {len(description)} characters; other tools take "
            f"{LONGEST_DESCRIPTION} at most",
        ),
        *_if(not lines, "nothing stands below the front matter: the skill says what, but not how"),
    ]
    return SkillHead(
        name=name,
        description=description,
        tags=tags,
        allowed_tools=tools or (),
        body_lines=len(lines),
        errors=(*_name_errors(values, name), *_missing(values, "description", description)),
        warnings=tuple(doubtful),
    )


def _name_errors(values: Mapping[object, object], name: str) -> tuple[str, ...]:
    if not name:
        return _missing(values, "name", name)
    try:
        address = SHARED_SKILLS.child(name)
    except InvalidUriError as fault:
        reason = fault.details.get("reason", fault)
        return (f"name is {_shown(name)}, which is no name of a directory: it {reason}",)
    if address.parent != SHARED_SKILLS:
        return (f"name is {_shown(name)}; expected a name without '/', for it becomes a directory",)
    if split_level(address)[1] is not None:
        return (f"name is {name!r}, which is kept for the summary of a directory",)
    return ()


def _name_warnings(name: str) -> tuple[str, ...]:
    usual = len(name) <= LONGEST_NAME and _USUAL_NAME.fullmatch(name)
    return _if(
        bool(name) and not usual,
        f"name is {_shown(name)}; other tools expect lower case letters, digits and single hyphens, "
        f"{LONGEST_NAME} at most",
    )


def _shown(name: str) -> str:
    """Return a name as messages repeat it, cut where it is long."""
    return repr(name if len(name) <= _SHOWN else name[:_SHOWN] + "…")


def _missing(values: Mapping[object, object], field: str, text: str) -> tuple[str, ...]:
    if text:
        return ()
    if field not in values:
        return (f"front matter has no {field}; expected a line '{field}: …'",)
    kind = type(values[field]).__name__
    what = "blank" if isinstance(values[field], str | None) else f"a value of type {kind}"
    return (f"{field} in the front matter is {what}; expected a text",)


def _line(value: object) -> str:
    """Return a text, or a number that somebody wrote as a name, on one line."""
    number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST
    return " ".join(str(value).split()) if isinstance(value, str | float) or number else ""


def _tags(value: object) -> tuple[tuple[str, ...], list[str]]:
    """Return the tags that can be kept, and a warning for each of the others."""
    good: list[str] = []
    warnings: list[str] = []
    listed = _listed(value, lambda text: text.split(","))
    if listed is None:
        warnings.append("tags is no text and no list of texts, and is not kept")
    for text in listed or ():
        try:
            good += parse_tags([text])
        except InvalidArgumentError:
            warnings.append(f"tag {text!r} is not key=value and is not kept")
    return parse_tags(good), warnings


def _listed(value: object, split: Callable[[str], list[str]]) -> tuple[str, ...] | None:
    """Return a list of texts, or a text that `split` takes apart; None for anything else."""
    if value is None:
        return ()
    items = split(value) if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return None
    return tuple(item.strip() for item in items if item.strip())


def _if(holds: bool, text: str) -> tuple[str, ...]:  # noqa: FBT001 - private, and read as `if`
    return (text,) if holds else ()
