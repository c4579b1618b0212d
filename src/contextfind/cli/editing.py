"""`write`, `mkdir`, `rm`, `mv`, `tag`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.screen import show, show_json

STDIN = "-"

app = typer.Typer()

Address = Annotated[str, typer.Argument(metavar="URI", help="viking://…")]


@client_command(app, "write")
async def write(
    connection: Connection,
    uri: Address,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A text file; - is stdin.")] = STDIN,
    mode: Annotated[
        Literal["create", "replace", "append"],
        typer.Option(help="create refuses to overwrite; append needs a file that is there."),
    ] = "replace",
    tag: Annotated[list[str] | None, typer.Option(help="key=value; repeatable.")] = None,
    *,
    wait: Annotated[bool, typer.Option(help="Return when it can be found.")] = True,
) -> None:
    """Write one text file."""
    answer = await connection.client.write(uri, _text(file), mode, tag, wait=wait)
    if connection.as_json:
        show_json(answer.raw)
    else:
        show(f"{answer.uri}  {answer.written_bytes} bytes")


@client_command(app, "mkdir")
async def mkdir(
    connection: Connection,
    uri: Address,
    description: Annotated[str, typer.Option(help="What will be in it.")] = "",
) -> None:
    """Make a directory."""
    await connection.client.mkdir(uri, description)
    if connection.as_json:
        show_json({"uri": uri})
    else:
        show(uri)


@client_command(app, "rm")
async def rm(
    connection: Connection,
    uri: Address,
    *,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="A directory with all that is in it.")
    ] = False,
) -> None:
    """Remove a file or a directory; what is not there is no error."""
    answer = await connection.client.rm(uri, recursive=recursive)
    if connection.as_json:
        show_json(answer.raw)
    else:
        show(f"removed {uri}" if answer.estimated_deleted_count else f"nothing is stored at {uri}")


@client_command(app, "mv")
async def mv(
    connection: Connection,
    source: Annotated[str, typer.Argument(metavar="URI", help="A file or a directory.")],
    target: Annotated[
        str, typer.Argument(metavar="URI", help="Its new address; DIR/ keeps its name, below DIR.")
    ],
) -> None:
    """Move a file, or a directory with all that is in it."""
    if target.endswith("/"):
        target += source.rstrip("/").rpartition("/")[2]
    answer = await connection.client.mv(source, target)
    if connection.as_json:
        show_json(answer.raw)
    else:
        show(str(answer.raw.get("to", target)))


@client_command(app, "tag")
async def tag(
    connection: Connection,
    uri: Address,
    tags: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE…")] = None,
    mode: Annotated[
        Literal["append", "replace", "clear"],
        typer.Option(help="append leaves those of other keys; clear leaves none."),
    ] = "append",
    *,
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Every file below a directory.")
    ] = False,
) -> None:
    """Give tags to what is stored."""
    answer = await connection.client.set_tags(uri, tags or (), mode, recursive=recursive)
    if connection.as_json:
        show_json(answer.raw)
    else:
        show(f"{len(answer.updated_uris)} tagged: {' '.join(answer.tags) or '(none)'}")


def _text(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
        return data.decode()
    except OSError as error:
        reason = error.strerror or str(error)
        raise Complaint(
            f"cannot read {file}: {reason}; give a text file", ExitCode.USAGE
        ) from error
    except UnicodeDecodeError as error:
        raise Complaint(
            f"{file} is no UTF-8 text; use: contextfind add {file}", ExitCode.USAGE
        ) from error
