"""What a text says about itself before it begins: YAML between `---`, TOML between `+++`."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.tags import parse_tags
from contextfind.ingestion.parsing.decoding import usable

_FENCED = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(.*?\r?\n|)(?:\1|\.\.\.)[ \t]*(?:\r?\n|$)", re.DOTALL)
_LONGEST = 65_536  # characters; far beyond any real one, and bounds the time of the YAML parser
_LONGEST_TOML = 8_192  # characters; a name of thousands of parts costs its parser their square
_BROKEN = (  # what the parsers raise apart from errors of their own: odd dates, tags, keys, numbers
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_DEEPEST = 50  # brackets; each one costs the parser time at every character inside
_MERGE = "tag:yaml.org,2002:merge"
_LARGEST = 10**18  # a number beyond is no title, and endless ones cannot even be spelled


class _Loader(yaml.SafeLoader):
    """Safe YAML in which `<<` is a name like any other: maps merged into maps fill any memory.

    NUL and lone surrogates, which escapes can spell, become U+FFFD.
    """

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> str:
        """Return the text of a scalar."""
        return usable(super().construct_scalar(node))

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        """Begin a list or a map in brackets.

        Raises:
            ScannerError: it lies deeper than any real one.

        """
        if self.flow_level >= _DEEPEST:
            told = f"brackets deeper than {_DEEPEST}"
            raise yaml.scanner.ScannerError(None, None, told, self.get_mark())
        super().fetch_flow_collection_start(token)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge nothing, also where a tag asks for it."""


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != _MERGE]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """title, description: empty when not given. tags: valid `key=value` ones. length: characters."""

    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    length: int = 0


@dataclass(frozen=True, slots=True)
class FrontBlock:
    """values: what stands between the fences. length: characters up to the text behind them.

    fault: why it cannot be read, in words; empty when it can, or when there is none (length 0).
    """

    values: Mapping[object, object] = field(default_factory=dict)
    length: int = 0
    fault: str = ""


def front_block(text: str) -> FrontBlock:
    """Return all that stands before the text, by its own names."""
    match = _FENCED.match(text[:_LONGEST])
    if match is None:
        return FrontBlock()
    if match[1] == "+++" and match.end() > _LONGEST_TOML:
        told = f"it has {match.end()} characters; TOML is read up to {_LONGEST_TOML}"
        return FrontBlock(length=match.end(), fault=told)
    try:
        values: object = (
            tomllib.loads(match[2]) if match[1] == "+++" else yaml.load(match[2], _Loader)  # noqa: S506 - it is a safe one
        )
    except (yaml.YAMLError, *_BROKEN) as error:
        return FrontBlock(length=match.end(), fault=_told(error))
    if values is None:
        return FrontBlock(length=match.end())
    if not isinstance(values, dict):
        return FrontBlock(length=match.end(), fault="it holds no names with values")
    return FrontBlock(values, match.end())


def front_matter(text: str) -> FrontMatter:
    """Return what stands before the text; an unreadable one counts as text (length 0)."""
    block = front_block(text)
    if block.fault:
        return FrontMatter()
    values = block.values
    return FrontMatter(
        _line(values.get("title")) or _line(values.get("name")),
        _line(values.get("description")) or _line(values.get("summary")),
        _tags(values.get("tags")),
        block.length,
    )


def _told(error: Exception) -> str:
    """Return what a parser complains about, and where, on one line."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return " ".join(str(error).split())
    line = error.problem_mark.line + 2  # counted from 0, behind the line of the fence
    return f"{error.problem or error.context} in line {line}"


def _line(value: object) -> str:
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return ""
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
