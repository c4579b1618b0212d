"""`find`."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, cast

import typer

from contextfind.cli.connection import Connection, client_command
from contextfind.cli.explaining import walk_tree
from contextfind.cli.screen import console, say, short, show, show_json, show_text, table
from contextfind.client.answers import FindOptions, Found, Hit

PLAUSIBLE = 0.45  # a best hit below this probably answers something else (docs: the score)
COLUMNS = ("score", "address", "why", "abstract")
WIDE = 140  # columns of a terminal below which an address would be folded to fit beside the rest

app = typer.Typer()


class Shelf(StrEnum):
    """A context type."""

    MEMORY = "memory"
    RESOURCE = "resource"
    SKILL = "skill"


Targets = Annotated[
    list[str] | None,
    typer.Option("--target", "-t", help="Only below this address; repeatable."),
]
Levels = Annotated[
    list[int] | None,
    typer.Option(min=0, max=2, help="0 abstracts, 1 overviews, 2 files; repeatable."),
]


@client_command(app, "find")
async def find(  # noqa: PLR0913 - a command line is its options
    connection: Connection,
    query: Annotated[str, typer.Argument(help="What you want to know, in your words.")] = "",
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
    """Find what fits a question.

    Scores mean the same on every question: below .35 noise, from .45 plausible, from .6 strong.
    """
    said = _said(
        target_uri=target,
        level=level,
        context_type=kind,
        tags=tag,
        since=since,
        until=until,
        score_threshold=threshold,
    )
    flags = {"include_provenance": True} if explain else {}
    options = cast("FindOptions", {"limit": limit, "read_content": content, **flags, **said})
    found = _answer(await connection.client.find(query, **options))
    if connection.as_json:
        show_json(found)
    else:
        _show(found, asked=query.strip() != "", narrowed=bool(said))
        for told in found.get("provenance", ()):
            show(walk_tree(told))


def _said(**conditions: object) -> dict[str, object]:
    """Return the conditions that were given."""
    return {name: value for name, value in conditions.items() if value is not None}


def _answer(found: Found) -> Found:
    """Return the server's answer alone; what it has to say about the targets goes to stderr."""
    unknown = found.pop("unknown_targets", [])
    if unknown:
        say(f"nothing is stored at {', '.join(unknown)}", style="yellow")
    return found


def _show(found: Found, *, asked: bool, narrowed: bool) -> None:
    hits = ranked(found)
    if not hits:
        less = "fewer conditions" if narrowed else "other words"
        say(f"nothing found; try {less}, or add something: contextfind add PATH")
        return
    if any("content" in hit for hit in hits):
        _show_texts(hits)
    else:
        _show_table(hits)
    if asked and hits[0]["score"] < PLAUSIBLE:
        say("weak matches: probably none of these answers the question", style="yellow")


def ranked(found: Found) -> list[Hit]:
    """Return the hits of all shelves in one order: best first, ties by address."""
    hits = [*found["memories"], *found["resources"], *found["skills"]]
    return sorted(hits, key=lambda hit: (-hit["score"], hit["uri"], hit["level"]))


def _show_table(hits: Sequence[Hit]) -> None:
    stacked = console().width < WIDE
    made = table("score", "address, why, abstract") if stacked else table(*COLUMNS)
    for hit in hits:
        why, abstract = short(hit.get("match_reason") or ""), short(hit.get("abstract") or "")
        cells = [hit["uri"], why, abstract]
        if stacked:
            cells = ["\n".join(cell for cell in cells if cell)]
        made.add_row(f"{hit['score']:.3f}", *cells)
    show(made)


def _show_texts(hits: Sequence[Hit]) -> None:
    for hit in hits:
        say(f"{hit['score']:.3f}  {hit['uri']}", style="bold")
        show_text(hit.get("content") or hit.get("abstract") or "")
