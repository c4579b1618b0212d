"""`add`: local files over HTTP into the tree."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.meter import Meter, meter
from contextfind.cli.pace import Paces
from contextfind.cli.screen import say, show, show_json, table
from contextfind.client import TaskFailedError
from contextfind.client.adding import AddOptions
from contextfind.client.answers import Added
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.tags import parse_tags

NAMED = 10  # skipped and failed files that are named; --json names them all
_STAGES = {  # of the client, as they are shown
    "packing": ("packing", "files"),
    "uploading": ("uploading", "KiB"),
    "indexing": ("indexed", "files"),
    "embedding": ("embedded", "texts"),
}

app = typer.Typer()


@client_command(app, "add")
async def add(  # noqa: PLR0913 - a command line is its options
    connection: Connection,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file, a directory or a zip.")],
    *,
    to: Annotated[str | None, typer.Option(help="Exactly this address.")] = None,
    parent: Annotated[
        str | None, typer.Option(help="Below this address (default viking://resources).")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Call it this, not as PATH is called.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="key=value; repeatable.")] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Only files like this (*.md); repeatable.")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Not these files; repeatable.")] = None,
    ignore_dirs: Annotated[
        list[str] | None, typer.Option(help="Not these directories; repeatable.")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Return when all of it can be found.")] = True,
) -> None:
    """Add a file, a directory or a zip; adding it again brings what changed.

    Of a directory, .gitignore is honoured, and .git, node_modules and the like are left out.
    Names that begin with a dot are left out too, unless an --include pattern names them.
    """
    if to is not None and parent is not None:
        raise Complaint("--to and --parent exclude each other; give one of them", ExitCode.USAGE)
    source = _source(path)
    said = {"source_name": name, "to": to, "parent": parent, "tags": _tags(tag)}
    said |= {"include": include, "exclude": exclude, "ignore_dirs": ignore_dirs}
    options = cast("AddOptions", {key: value for key, value in said.items() if value is not None})
    with meter() as shown:
        try:
            added = await connection.client.add_resource(
                source, wait=wait, progress=partial(_tell, shown, Paces()), **options
            )
        except TaskFailedError as error:
            raise Complaint(
                f"adding {path} failed: {error}; try it again", ExitCode.FAILED, error.code
            ) from error
        except OSError as error:
            raise _unreadable(error, str(error.filename or source)) from error
    _report(connection, added)


def _tell(meter: Meter, paces: Paces, stage: str, done: int, total: int) -> None:
    word, unit = _STAGES[stage]
    meter.show(word, done, total, paces.at(stage, done, total, unit))


def _source(path: str) -> Path:
    source = Path(os.path.abspath(path))  # noqa: PTH100 - keeps the name of a link
    if not source.exists():
        raise Complaint(
            f"there is no {path}; give a local file, directory or zip", ExitCode.USAGE, "NOT_FOUND"
        )
    if not (source.is_file() or source.is_dir()):
        raise Complaint(f"{path} is neither a file nor a directory", ExitCode.USAGE)
    if not os.access(source, os.R_OK):
        raise Complaint(f"cannot read {path}; look at its permissions", ExitCode.USAGE)
    if not source.name:
        raise Complaint(f"{path} has no name; give one with --name", ExitCode.USAGE)
    return source


def _tags(texts: Sequence[str] | None) -> list[str] | None:
    if texts is None:
        return None
    try:
        return list(parse_tags(texts, "--tag"))
    except InvalidArgumentError as error:
        raise Complaint(str(error), ExitCode.USAGE) from error


def _unreadable(error: OSError, where: str) -> Complaint:
    return Complaint(f"cannot use {where}: {error.strerror or error}", ExitCode.USAGE)


def _report(connection: Connection, added: Added) -> None:
    if added.task is None:
        if connection.as_json:
            show_json(added.raw)
        else:
            show(f"{added.root_uri}  is being indexed (task {added.task_id})")
        return
    result = added.task.result or {}
    if connection.as_json:
        show_json(added.task.raw)
    else:
        _show_result(added, result)
    taken = sum(int(result.get(what, 0)) for what in ("added", "updated", "unchanged"))
    if result.get("failed") or taken == 0:
        raise typer.Exit(ExitCode.FAILED)


def _show_result(added: Added, result: Mapping[str, Any]) -> None:
    skipped = [*added.unread.items(), *((one["path"], one["reason"]) for one in result["skipped"])]
    failed = [(one["path"], one["reason"]) for one in result.get("failed", ())]
    made = table("files", "")
    for what in ("added", "updated", "unchanged", "removed"):
        made.add_row(str(result.get(what, 0)), what)
    made.add_row(
        str(result.get("skipped_count", len(result["skipped"])) + len(added.unread)), "skipped"
    )
    if failed:
        made.add_row(str(result.get("failed_count", len(failed))), "failed")
    show(added.root_uri)
    show(made)
    for what, those in (("skipped", skipped), ("failed", failed)):
        for path, reason in those[:NAMED]:
            say(f"{what} {path}: {reason}")
        if len(those) > NAMED:
            say(f"{what}: {len(those) - NAMED} more; --json names them")
    if result.get("note"):
        say(str(result["note"]), style="yellow")
