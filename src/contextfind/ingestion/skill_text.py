"""The text of a SKILL.md: what it says of itself, and making one from its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import yaml

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.skills import SkillHead, read_head
from contextfind.ingestion.parsing.front_matter import front_block

LONGEST = 1_000_000  # characters (and bytes of a file), for an agent is to read all of it
_NONE = (
    "it has no front matter; expected '---', lines 'name: …' and 'description: …', '---', and then "
    "what the skill says"
)
_COLON = "mapping values"  # how YAML complains about a colon in a text, the usual mistake
_QUOTES = "; a text that holds ': ' stands in quotes"
_MANY = 1_000_000  # characters of a line; YAML shall not break the lines of a description


def head_of(text: str) -> SkillHead:
    """Return what a SKILL.md says of itself, with what is wrong with it."""
    if len(text) > LONGEST:
        return SkillHead(errors=(f"it has {len(text)} characters; expected at most {LONGEST}",))
    block = front_block(text)
    head = read_head(block.values, text[block.length :])
    if block.fault:
        hint = _QUOTES if _COLON in block.fault else ""
        return replace(head, errors=(f"its front matter cannot be read: {block.fault}{hint}",))
    return head if block.length else replace(head, errors=(_NONE,))


def heads_of(texts: Sequence[str]) -> Sequence[SkillHead]:
    """Return what each of several says."""
    return [head_of(text) for text in texts]


def text_of(data: str | Mapping[str, object]) -> str:
    """Return a SKILL.md from what a caller sent: its text, or its parts.

    Of parts, `content` is the text below the front matter and all others are its lines. A front matter
    that `content` has itself comes under them. A text loses what stands in front of the front matter:
    blank lines and a byte order mark.

    Raises:
        InvalidArgumentError: a content that is no text, or a part that YAML cannot spell.

    """
    if isinstance(data, str):
        return data.lstrip("\ufeff \t\r\n")
    content = data.get("content", "")
    if not isinstance(content, str):
        raise InvalidArgumentError(
            f"data.content is a value of type {type(content).__name__}; expected a text",
            {"field": "data.content"},
        )
    content = content.lstrip("\ufeff \t\r\n")
    own = front_block(content)
    values: dict[object, object] = {} if own.fault else dict(own.values)
    values |= {name: given for name, given in data.items() if name != "content"}
    body = content if own.fault else content[own.length :]
    try:
        front = yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=_MANY)
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidArgumentError(
            f"data has parts that a front matter cannot hold: {' '.join(str(error).split())}",
            {"field": "data"},
        ) from error
    return f"---\n{front}---\n\n{body.lstrip()}"
