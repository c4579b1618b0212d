"""`add`: local files over HTTP into the tree."""

import asyncio
import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.meter import Countdown, Meter, meter
from contextfind.cli.packing import Choice, Packed, pack
from contextfind.cli.screen import say, show, show_json, table
from contextfind.client.answers import AddOptions, Task
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.tags import parse_tags

LOOK_SECONDS = 0.3  # between two looks at a task: fast enough for a bar, little for the server
NAMED = 10  # skipped and failed files that are named; --json names them all
KIBIBYTE = 1024
ENDED = ("completed", "failed", "cancelled")

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
    options: AddOptions = {"source_name": name or source.name}
    choice = Choice(tuple(include or ()), tuple(exclude or ()), tuple(ignore_dirs or ()))
    said = {"to": to, "parent": parent, "tags": _tags(tag), "include": include}
    said |= {"exclude": exclude, "ignore_dirs": ignore_dirs}
    options.update({key: value for key, value in said.items() if value is not None})  # type: ignore[typeddict-item]
    with tempfile.TemporaryDirectory(prefix="contextfind-") as room, meter() as shown:
        errand = _Errand(connection, shown)
        upload, packed = await errand.packed(source, Path(room), choice)
        options["temp_file_id"] = await errand.uploaded(upload, source)
        answer = await connection.client.add_resource(**options)
        task = await errand.followed(str(answer["task_id"])) if wait else None
    _report(connection, answer, task, packed)


@dataclass(frozen=True, slots=True)
class _Errand:
    """One add, step by step, each shown."""

    connection: Connection
    meter: Meter

    async def packed(self, source: Path, room: Path, choice: Choice) -> tuple[Path, Packed]:
        """Return what is to be sent: the file itself, or a directory as a zip in `room`."""
        if not _is_tree(source):
            return source, Packed(files=1)
        archive, stop = room / "upload.zip", threading.Event()

        def progress(done: int, total: int) -> None:
            self.meter.show("packing", done, total, "files")

        try:
            packed = await asyncio.to_thread(pack, source, archive, choice, progress, stop.is_set)
        except InvalidArgumentError as error:
            raise Complaint(str(error), ExitCode.USAGE, error.code) from error
        except OSError as error:
            where = f"the temporary directory {room.parent}"
            raise _unreadable(error, str(error.filename or where)) from error
        finally:
            stop.set()  # an interrupted command does not wait for the rest of the files
        if not packed.files:
            raise Complaint(
                f"no file of {source} is left to add; look at --include, --exclude and .gitignore",
                ExitCode.USAGE,
            )
        return archive, packed

    async def uploaded(self, file: Path, source: Path) -> str:
        """Send the file and return its temp_file_id."""
        name = source.name if file == source else f"{source.name}.zip"

        def progress(done: int, total: int) -> None:
            self.meter.show("uploading", done // KIBIBYTE, max(total // KIBIBYTE, 1), "KiB")

        try:
            return await self.connection.client.upload(file, name, progress)
        except OSError as error:
            raise _unreadable(error, str(source)) from error

    async def followed(self, task_id: str) -> Task:
        """Return the task when it has ended."""
        countdown = Countdown()
        while True:
            task = await self.connection.client.task(task_id)
            if task["status"] in ENDED:
                return task
            if task.get("stage") == "embedding":
                done, total = countdown.at(await self._texts_left())
                self.meter.show("embedded", done, total, "texts")
            else:
                self.meter.show("indexed", task.get("done") or 0, task.get("total") or 0, "files")
            await asyncio.sleep(LOOK_SECONDS)

    async def _texts_left(self) -> int:
        """Return how many texts wait for a vector; 0 when the server does not tell this key."""
        status = await self.connection.client.status()
        return int(status.get("backlog", {}).get("texts", 0))


def _is_tree(source: Path) -> bool:
    return source.is_dir()


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


def _report(
    connection: Connection, answer: Mapping[str, Any], task: Task | None, packed: Packed
) -> None:
    if task is None:
        if connection.as_json:
            show_json(answer)
        else:
            show(f"{answer['root_uri']}  is being indexed (task {answer['task_id']})")
        return
    if task["status"] != "completed":
        reason = task.get("error") or f"it was {task['status']}"
        raise Complaint(
            f"adding to {answer['root_uri']} failed: {reason}; try it again",
            ExitCode.FAILED,
            "INTERNAL",
        )
    result = task.get("result") or {}
    if connection.as_json:
        show_json(task)
    else:
        _show_result(answer, result, packed)
    taken = sum(int(result.get(what, 0)) for what in ("added", "updated", "unchanged"))
    if result.get("failed") or taken == 0:
        raise typer.Exit(ExitCode.FAILED)


def _show_result(answer: Mapping[str, Any], result: Mapping[str, Any], packed: Packed) -> None:
    skipped = [*packed.unread.items(), *((one["path"], one["reason"]) for one in result["skipped"])]
    failed = [(one["path"], one["reason"]) for one in result.get("failed", ())]
    made = table("files", "")
    for what in ("added", "updated", "unchanged", "removed"):
        made.add_row(str(result.get(what, 0)), what)
    made.add_row(
        str(result.get("skipped_count", len(result["skipped"])) + len(packed.unread)), "skipped"
    )
    if failed:
        made.add_row(str(result.get("failed_count", len(failed))), "failed")
    show(answer["root_uri"])
    show(made)
    for what, those in (("skipped", skipped), ("failed", failed)):
        for path, reason in those[:NAMED]:
            say(f"{what} {path}: {reason}")
        if len(those) > NAMED:
            say(f"{what}: {len(those) - NAMED} more; --json names them")
    if result.get("note"):
        say(str(result["note"]), style="yellow")
