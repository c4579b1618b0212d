"""`grep`, `glob`: lines and names by letter."""

from typing import Annotated, Any

from pydantic import AliasChoices, Field

from contextfind.client.answers import Globbed, Grepped
from contextfind.toolbox.reading import ROOT
from contextfind.toolbox.tool import Arguments, Desk, Told, Tool, shortened

_LINE = 300  # characters of a line that are shown
_NODES = AliasChoices("limit", "node_limit")  # older hosts know the second name

Below = Annotated[str, Field(description="Only at and below this address.")]
Limit = Annotated[
    int, Field(ge=1, le=1_000, validation_alias=_NODES, description="How many at most.")
]


class GrepArguments(Arguments):
    """A pattern, and where to look for it."""

    pattern: Annotated[
        str | list[str],
        Field(description="A regular expression (RE2), or several of which one has to match."),
    ]
    uri: Below = ROOT
    case_insensitive: Annotated[bool, Field(description="Take a for A.")] = False
    limit: Limit = 100


class GlobArguments(Arguments):
    """Wildcards, and where to look for what they match."""

    pattern: Annotated[str, Field(min_length=1, description="*.md, **/*.md, **/test_*, [a-c]?.txt")]
    uri: Below = ROOT
    limit: Limit = 200


async def _grep(desk: Desk, asked: GrepArguments) -> Told:
    several = isinstance(asked.pattern, list)
    pattern = "|".join(f"(?:{one})" for one in asked.pattern) if several else str(asked.pattern)
    if not pattern:
        return Told("pattern is empty; expected a regular expression", wrong=True)
    found = await desk.client.grep(
        pattern, asked.uri, ignore_case=asked.case_insensitive, limit=asked.limit
    )
    return Told(_grepped(found), _grep_data(found))


def _grepped(found: Grepped) -> str:
    if not found.matches:
        return f"No line of {found.files_scanned} files matches."
    lines, last = [], ""
    for match in found.matches:
        if match.uri != last:
            lines.append(match.uri)
            last = match.uri
        lines.append(f"  {match.line}: {shortened(match.content, _LINE)}")
    return "\n".join([*lines, *_more(cut=found.has_more)])


def _grep_data(found: Grepped) -> dict[str, Any]:
    matches = [
        {"uri": match.uri, "line": match.line, "content": shortened(match.content, _LINE)}
        for match in found.matches
    ]
    return {"matches": matches, "has_more": found.has_more}


async def _glob(desk: Desk, asked: GlobArguments) -> Told:
    found: Globbed = await desk.client.glob(asked.pattern, asked.uri, limit=asked.limit)
    data = {"matches": list(found.matches), "has_more": found.has_more}
    if not found.matches:
        return Told("No address matches.", data)
    return Told("\n".join([*found.matches, *_more(cut=found.has_more)]), data)


def _more(*, cut: bool) -> list[str]:
    return ["[there are more; raise limit, or look below a nearer uri]"] if cut else []


GREP = Tool(
    "grep",
    "Find by letter",
    "Find lines of files that match a regular expression: exact names, numbers, error messages. Returns "
    "addresses with line numbers (the first line is 1). For meaning take `find`.",
    GrepArguments,
    _grep,
)
GLOB = Tool(
    "glob",
    "Find by name",
    "Find addresses whose path below `uri` matches wildcards, such as **/*.md. For what files say take "
    "`find` or `grep`.",
    GlobArguments,
    _glob,
)
