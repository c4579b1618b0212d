"""`skills`: descriptions of how something is done."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.screen import say, short, show, show_json, show_text, table
from contextfind.client.skills import Skill

STDIN = "-"
SHARED = "viking://agent/skills"

skills = typer.Typer(help="List, add, read, find or remove skills.", no_args_is_help=True)
app = typer.Typer()
app.add_typer(skills, name="skills")

Name = Annotated[str, typer.Argument(metavar="NAME", help="As skills list shows it.")]
Shared = Annotated[bool, typer.Option("--shared", help=f"Only those of the account ({SHARED}).")]


@client_command(skills, "skills list")
async def list_skills(connection: Connection, *, shared: Shared = False) -> None:
    """List the skills you can use, by name."""
    found = await connection.client.list_skills(_place(shared=shared))
    if connection.as_json:
        show_json(found.raw)
        return
    _show_skills(found.skills)
    if found.total > len(found.skills):
        say(f"{found.total - len(found.skills)} more are not shown")


@client_command(skills, "skills add")
async def add(
    connection: Connection,
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH|-",
            help="A SKILL.md, a directory or zip with one or more of them; - is stdin.",
        ),
    ],
    *,
    shared: Annotated[
        bool, typer.Option("--shared", help="For everybody in the account, not you alone.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Return when it can be found.")] = True,
) -> None:
    """Add a skill; one of the same name is replaced."""
    source = f"{_stdin()}\n" if path == STDIN else _file(path)
    try:
        added = await connection.client.add_skill(
            source, target_uri=_place(shared=shared), wait=wait
        )
    except OSError as error:
        raise Complaint(f"cannot read {path}: {error.strerror or error}", ExitCode.USAGE) from error
    if connection.as_json:
        show_json(added.raw)
    else:
        for one in added.skills or (added,):
            show_text(one.uri)
    for line in (*added.warnings, *added.errors):
        say(line, style="yellow")
    if added.errors:
        raise typer.Exit(ExitCode.FAILED)


@client_command(skills, "skills show")
async def show_skill(connection: Connection, name: Name, *, shared: Shared = False) -> None:
    """Print the text of a skill, and which files it has."""
    skill = await connection.client.get_skill(name, _place(shared=shared))
    if connection.as_json:
        show_json(skill.raw)
        return
    show_text(skill.content)
    for file in skill.files:
        if file.get("kind") == "auxiliary":
            say(f"file {file.get('uri')}")


@client_command(skills, "skills rm")
async def rm(connection: Connection, name: Name, *, shared: Shared = False) -> None:
    """Remove a skill with its files; what is not there is no error."""
    gone = await connection.client.delete_skill(name, _place(shared=shared))
    if connection.as_json:
        show_json(gone.raw)
    elif gone.estimated_deleted_count:
        show_text(f"removed {gone.uri}")
    else:
        show_text(f"there is no skill {name}")


@client_command(skills, "skills find")
async def find(
    connection: Connection,
    query: Annotated[str, typer.Argument(help="What is to be done, in your words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100)] = 10,
    *,
    shared: Shared = False,
) -> None:
    """Find the skills that fit a task best."""
    found = await connection.client.find_skills(query, limit, target_uri=_place(shared=shared))
    if connection.as_json:
        show_json(found.raw)
    elif found.skills:
        _show_skills(found.skills, scored=True)
    else:
        say("nothing found; see what is there with: contextfind skills list")


def _show_skills(found: Sequence[Skill], *, scored: bool = False) -> None:
    columns = ("name", "where", "description")
    made = table(*(("score",) if scored else ()), *columns)
    for skill in found:
        score = () if not scored else (f"{skill.score or 0:.3f}",)
        made.add_row(*score, skill.name, skill.uri, short(skill.description, 100))
    show(made if found else "(none)")


def _place(*, shared: bool) -> str | None:
    return SHARED if shared else None


def _file(path: str) -> Path:
    file = Path(path)
    if not file.exists():
        raise Complaint(
            f"there is no {path}; give a SKILL.md, a directory or a zip",
            ExitCode.USAGE,
            "NOT_FOUND",
        )
    return file


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise Complaint("what comes from stdin is no UTF-8 text", ExitCode.USAGE) from error
