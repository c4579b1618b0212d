"""`find`."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, cast

import typer

from contextfind.cli.connection import Connection, client_command
from contextfind.cli.explaining import walk_tree
from contextfind.cli.screen import console, say, short, show, show_json, show_text, table
from contextfind.client.findings import Found, Hit
from contextfind.client.searching import FindOptions

PLAUSIBLE = 0.45  # a best hit below this probably answers something else (docs: the score)
COLUMNS = ("score", "address", "why", "abstract")
WIDE = 140  # columns of a terminal below which an address would be folded to fit beside the rest

_SPELLED = {
    "target": "target_uri",
    "level": "level",
    "kind": "context_type",
    "tag": "tags",
    "since": "since",
    "until": "until",
    "threshold": "score_threshold",
}

app = typer.Typer()


class Shelf(StrEnum):
    """A context type."""

    MEMORY = "memory"
    RESOURCE = "resource"
    SKILL = "skill"


Query = Annotated[str, typer.Argument(help="What you want to know, in your words.")]
Targets = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", help="Only below this address; repeatable."),
]
Levels = Annotated[
    list[int] | None,
    typer.Option(min=0, max=2, help="0 abstracts, 1 overviews, 2 files; repeatable."),
]


def conditions(  # noqa: PLR0913 - a command line is its options
    *,
    target: Targets = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100)] = 10,
    level: Levels = None,
    kind: Annotated[
        list[Shelf] | None, typer.Option("--type", help="Only this shelf; repeatable.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="key=value; all of them must hold; repeatable.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Changed since: 2026-01-31, an ISO time, or 2h, 3d, 1w ago.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Changed until.")] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Only hits with at least this score.")
    ] = None,
    content: Annotated[bool, typer.Option("--content", help="Print the whole texts too.")] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show the walk: what was opened, kept and cut, and why."),
    ] = False,
) -> None:
    """Carry the options of `find` and `search`; never called."""


@client_command(app, "find", conditions)
async def find(connection: Connection, query: Query = "", **given: Any) -> None:
    """Find what fits a question.

    Scores mean the same on every question: below .35 noise, from .45 plausible, from .6 strong.
    """
    found = await connection.client.find(query, **options_of(given))
    warn(found)
    if connection.as_json:
        show_json(found.raw)
    else:
        show_found(found, asked=query.strip() != "", narrowed=narrowed(given))


def options_of(given: Mapping[str, Any]) -> FindOptions:
    """Return the options of `conditions` as the API spells them."""
    said: dict[str, Any] = {
        name: given[word] for word, name in _SPELLED.items() if given[word] is not None
    }
    if given["explain"]:
        said["include_provenance"] = True
    return cast("FindOptions", {**said, "limit": given["limit"], "read_content": given["content"]})


def narrowed(given: Mapping[str, Any]) -> bool:
    """Tell whether a condition was given."""
    return any(given[word] is not None for word in _SPELLED)


def show_found(found: Found, *, asked: bool, narrowed: bool) -> None:
    """Show the hits, and how they were found where that was asked for."""
    _show(found, asked=asked, narrowed=narrowed)
    for told in found.provenance:
        show(walk_tree(told))


def warn(found: Found) -> None:
    """Say at which targets nothing is stored, and what was done without."""
    if found.unknown_targets:
        say(f"nothing is stored at {', '.join(found.unknown_targets)}", style="yellow")
    for note in found.notes:
        say(note, style="yellow")


def _show(found: Found, *, asked: bool, narrowed: bool) -> None:
    hits = found.hits
    if not hits:
        less = "fewer conditions" if narrowed else "other words"
        say(f"nothing found; try {less}, or add something: contextfind add PATH")
        return
    if any(hit.content is not None for hit in hits):
        _show_texts(hits)
    else:
        _show_table(hits)
    if asked and hits[0].score < PLAUSIBLE:
        say("weak matches: probably none of these answers the question", style="yellow")


def _show_table(hits: Sequence[Hit]) -> None:
    stacked = console().width < WIDE
    made = table("score", "address, why, abstract") if stacked else table(*COLUMNS)
    for hit in hits:
        why, abstract = short(hit.match_reason), short(hit.abstract)
        cells = [hit.uri, why, abstract]
        if stacked:
            cells = ["\n".join(cell for cell in cells if cell)]
        made.add_row(f"{hit.score:.3f}", *cells)
    show(made)


def _show_texts(hits: Sequence[Hit]) -> None:
    for hit in hits:
        say(f"{hit.score:.3f}  {hit.uri}", style="bold")
        show_text(hit.content or hit.abstract)
