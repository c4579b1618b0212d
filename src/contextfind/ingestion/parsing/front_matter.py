"""What a text says about itself before it begins: YAML between `---`, TOML between `+++`."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.tags import parse_tags

_FENCED = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(.*?\r?\n|)(?:\1|\.\.\.)[ \t]*(?:\r?\n|$)", re.DOTALL)
_LONGEST = 65_536  # characters; far beyond any real one, and bounds the time of the YAML parser


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """title, description: empty when not given. tags: valid `key=value` ones. length: characters."""

    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    length: int = 0


def front_matter(text: str) -> FrontMatter:
    """Return what stands before the text; an unreadable one counts as text (length 0)."""
    match = _FENCED.match(text[:_LONGEST])
    values = None if match is None else _values(match[1], match[2])
    if match is None or values is None:
        return FrontMatter()
    return FrontMatter(
        _line(values.get("title")) or _line(values.get("name")),
        _line(values.get("description")) or _line(values.get("summary")),
        _tags(values.get("tags")),
        match.end(),
    )


def _values(fence: str, body: str) -> Mapping[object, object] | None:
    try:
        values: object = tomllib.loads(body) if fence == "+++" else yaml.safe_load(body)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):  # bad dates, unhashable keys
        return None
    if values is None:
        return {}
    return values if isinstance(values, dict) else None


def _line(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _tags(value: object) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        return ()
    good: list[str] = []
    for item in items:
        try:
            good += parse_tags([item]) if isinstance(item, str) else ()
        except InvalidArgumentError:  # a plain word, which other tools call a tag too
            continue
    return parse_tags(good)
