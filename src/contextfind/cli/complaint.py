"""What went wrong, in one line, and the exit code for scripts."""

import re
import shlex
from collections.abc import Mapping
from enum import IntEnum

from contextfind.client import ClientError


class ExitCode(IntEnum):
    """What a script may test; described in `contextfind --help`."""

    FAILED = 1  # the request, or a check of `doctor`, failed
    USAGE = 2  # the command line, a path or the configuration is wrong
    OCCUPIED = 3  # port, data directory or data belong to something else
    UNREACHABLE = 4  # no server answers, or it cannot work now
    REFUSED = 5  # no key, a wrong one, or not for this


class Complaint(Exception):  # noqa: N818 - it is what the person reads, not always an error
    """A line for the person (what, where, what next), and how the program ends."""

    def __init__(self, message: str, exit_code: ExitCode, code: str = "INVALID_ARGUMENT") -> None:
        super().__init__(one_line(message))
        self.exit_code = exit_code
        self.code = code


def one_line(text: str) -> str:
    """Return the text on one line, with single spaces."""
    return " ".join(printable(text).split())


def printable(text: str) -> str:
    """Return the text with a space for each line break and other control character."""
    return "".join(character if character.isprintable() else " " for character in text)


def about(error: ClientError, command: str) -> Complaint:
    """Return the line for a request that failed; `command` is what was called, as typed."""
    mistaken = _mistaken(error)
    if mistaken:
        return Complaint(mistaken, _exit_code(error), error.code)
    hint = _hint(error, command)
    message = f"{_FULL_STOP.sub('', error.message)}; {hint}" if hint else error.message
    return Complaint(message, _exit_code(error), error.code)


def _exit_code(error: ClientError) -> ExitCode:
    match error.code:
        case "UNAUTHENTICATED" | "PERMISSION_DENIED":
            return ExitCode.REFUSED
        case "UNAVAILABLE":
            return ExitCode.UNREACHABLE
        case "DEADLINE_EXCEEDED" if error.status is None:
            return ExitCode.UNREACHABLE
        case "INVALID_ARGUMENT" if error.status is None:  # refused before anything was sent
            return ExitCode.USAGE
        case _:
            return ExitCode.FAILED


def _mistaken(error: ClientError) -> str:
    """Return the line for an address that is the other of file and directory, "" for other errors.

    The server's own words name routes, which nobody types.
    """
    resource, actual = error.details.get("resource"), error.details.get("actual")
    told = _MISTAKEN.get(str(actual))
    if told is None or not isinstance(resource, str):
        return ""
    if actual == "directory" and not resource.endswith("/"):  # the root alone has no overview
        told += _SUMMARISED
    overview = f"{resource}/.overview.md"
    return told.format(
        uri=repr(resource), typed=shlex.quote(resource), overview=shlex.quote(overview)
    )


def _hint(error: ClientError, command: str) -> str:
    if error.code == "UNAVAILABLE" and error.status is None:
        return ""  # the message itself says how a server is started
    group = command.partition(" ")[0]
    hint = _HINTS_OF.get((error.code, command)) or _HINTS_OF.get((error.code, group))
    return (hint or _HINTS.get(error.code, "")).format(command=command)


_FULL_STOP = re.compile(r"(?<![.\s])\.$")  # no part of "..", which a message may name

_HINTS: Mapping[str, str] = {
    "UNAUTHENTICATED": "give a good key with --key or CONTEXTFIND_API_KEY",
    "PERMISSION_DENIED": "try another key with --key or CONTEXTFIND_API_KEY",
    "NOT_FOUND": "see what is there with: contextfind tree viking://",
    "INVALID_URI": "an address looks like viking://resources/docs/guide.md",
    "INVALID_ARGUMENT": "see: contextfind {command} --help",
    "UNAVAILABLE": "see what is missing with: contextfind status",
    "DEADLINE_EXCEEDED": "it may still be working; look again with: contextfind status",
}

_HINTS_OF: Mapping[tuple[str, str], str] = {  # of one command or group, in place of the above
    ("NOT_FOUND", "session archives"): (
        "see what is there with: contextfind session list, and session archives SESSION"
    ),
    ("NOT_FOUND", "session"): "see what is there with: contextfind session list",
    ("NOT_FOUND", "skills"): "see what is there with: contextfind skills list",
}

_MISTAKEN: Mapping[str, str] = {  # by what the address really is
    "directory": "{uri} is a directory; list it with: contextfind ls {typed}",
    "file": "{uri} is a file; read it with: contextfind read {typed}",
}
_SUMMARISED = "; or read what is in it with: contextfind read {overview}"
