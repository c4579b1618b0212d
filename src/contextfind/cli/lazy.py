"""The commands by name, each loaded when it is called and not before."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group


@dataclass(frozen=True, slots=True)
class Offer:
    """A command in the overview: the module whose `app` has it, its panel and its line."""

    module: str
    panel: str
    line: str


_SERVER = "Run a server"
_FILL = "Fill it"
_ASK = "Ask it"
_TALK = "Hold a conversation"
_MOVE = "Take it elsewhere"
_ADMIN = "Accounts and keys"

OFFERS: Mapping[str, Offer] = {
    "init": Offer("init", _SERVER, "Write ov.conf from what is found here, and try it."),
    "serve": Offer("serving", _SERVER, "Start the server, and index PATHs while it answers."),
    "doctor": Offer(
        "doctor", _SERVER, "Check configuration, data, database, models and port; no server needed."
    ),
    "calibrate": Offer(
        "calibrating", _SERVER, "Fit the embedder's calibration to judged sets; no server needed."
    ),
    "eval": Offer(
        "evaluating", _SERVER, "Measure search and answers on judged sets; no server needed."
    ),
    "grade": Offer("grading", _SERVER, "Judge written answers with Ragas and the chat model."),
    "status": Offer(
        "standing", _SERVER, "Show what a running server holds and whether it is ready."
    ),
    "compact": Offer(
        "compacting", _SERVER, "Make the data as small as it can be; the server must be stopped."
    ),
    "reindex": Offer(
        "reindexing",
        _SERVER,
        "Throw the search index away and build it anew; the server must be stopped.",
    ),
    "mcp": Offer(
        "tooling", _SERVER, "Give an agent's host the tools over standard input and output."
    ),
    "version": Offer("standing", _SERVER, "Print the version."),
    "add": Offer("adding", _FILL, "Add a file, a directory or a zip."),
    "write": Offer("editing", _FILL, "Write one text file."),
    "mkdir": Offer("editing", _FILL, "Make a directory."),
    "rm": Offer("editing", _FILL, "Remove a file or a directory."),
    "mv": Offer("editing", _FILL, "Move a file, or a directory with all that is in it."),
    "tag": Offer("editing", _FILL, "Give tags to what is stored."),
    "export": Offer(
        "transferring", _MOVE, "Write all data into one file; the server must be stopped."
    ),
    "import": Offer(
        "transferring", _MOVE, "Bring an exported file into the data; the server must be stopped."
    ),
    "migrate": Offer(
        "migrating",
        _MOVE,
        "Bring files, memories and skills from another server of this API, by their addresses.",
    ),
    "backup": Offer("backing", _MOVE, "Save the data into a directory; the server may run."),
    "restore": Offer("backing", _MOVE, "Make a new data directory of a backup."),
    "find": Offer("finding", _ASK, "Find what fits a question."),
    "search": Offer("searching", _ASK, "Find what a question means in a conversation."),
    "context": Offer(
        "assembling",
        _ASK,
        "Print what fits a question as a block for a prompt, within a budget of tokens.",
    ),
    "ls": Offer("browsing", _ASK, "List a directory."),
    "tree": Offer("browsing", _ASK, "Show what lies below a directory."),
    "grep": Offer("matching", _ASK, "Show the lines of files that match a regular expression."),
    "glob": Offer("matching", _ASK, "Show the addresses that match wildcards."),
    "read": Offer("browsing", _ASK, "Print a file."),
    "session": Offer("sessions", _TALK, "Start, continue, look at or end a conversation."),
    "skills": Offer("skills", _FILL, "List, add, read, find or remove skills."),
    "accounts": Offer("admin", _ADMIN, "List or create accounts (root key)."),
    "users": Offer("admin", _ADMIN, "List, create, change or remove the users of an account."),
    "keys": Offer("admin", _ADMIN, "List, create, rotate or revoke keys."),
}


class LazyGroup(TyperGroup):
    """A group whose commands stand in for real ones until one is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the real command for the name in `args`, loading its module."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in OFFERS:
            command = loaded(name)
        return name, command, rest


def loaded(name: str) -> Any:
    """Return a command of `OFFERS`, importing its module; a command is typer's own kind of thing."""
    module = importlib.import_module(f"contextfind.cli.{OFFERS[name].module}")
    return get_group(module.app).commands[name]


def offer_all(app: typer.Typer) -> None:
    """Put a stand-in for every command into `app`, for the overview and for completion."""
    for name, offer in OFFERS.items():
        app.command(name, help=offer.line, rich_help_panel=offer.panel)(_stand_in)


def _stand_in() -> None:
    """Be replaced by the real command before anything runs."""
