"""What the person sees: answers on stdout, everything else on stderr."""

import json
import sys

from rich.console import Console, RenderableType
from rich.table import Table

from contextfind.cli.complaint import Complaint, one_line, printable

PIPE_WIDTH = 200  # columns when nobody looks: a pipe has none, and cutting addresses would hurt


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints texts of others as they are: no markup, no emoji codes."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr,
        markup=False,
        emoji=False,
        highlight=False,
        width=None if stream.isatty() else PIPE_WIDTH,
    )


def show(what: RenderableType) -> None:
    """Print an answer, without the spaces that fill up the last column."""
    screen = console()
    with screen.capture() as captured:
        screen.print(what)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def show_json(value: object) -> None:
    """Print an answer as JSON."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def show_text(text: str) -> None:
    """Print a text byte for byte, with a line end behind it when it has none."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def say(line: str, style: str = "") -> None:
    """Print a line about what is going on."""
    console(stderr=True).print(printable(line), style=style, soft_wrap=True)


def complain(complaint: Complaint, *, as_json: bool = False) -> None:
    """Print what went wrong: a line on stderr, or the API's error object on stdout."""
    if as_json:
        error = {"code": complaint.code, "message": str(complaint), "details": {}}
        show_json({"status": "error", "result": None, "error": error})
    else:
        say(f"contextfind: {complaint}", style="red")


def table(*columns: str) -> Table:
    """Return an empty table without a frame, whose cells are folded and never cut."""
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def short(text: str, length: int = 160) -> str:
    """Return the start of a text on one line, cut with an ellipsis."""
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
