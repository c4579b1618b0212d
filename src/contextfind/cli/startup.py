"""What is checked before the data is opened: the paths to be indexed and the port."""

import errno
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.domain.errors import InvalidUriError
from contextfind.domain.uri import Uri

RESOURCES = Uri("viking://resources")
BACKLOG = 2_048  # connections that may wait while the data is being opened


@dataclass(frozen=True, slots=True)
class Source:
    """A local file or directory, and the address it gets."""

    path: Path
    uri: Uri

    @property
    def name(self) -> str:
        """What it is called, in the tree and on the screen."""
        return self.uri.name


def checked_sources(paths: Sequence[Path]) -> list[Source]:
    """Return the paths with their addresses below viking://resources.

    Raises:
        Complaint: one is not there, cannot be read, has no usable name, or the name of another.

    """
    sources = [_source(path) for path in paths]
    by_uri: dict[Uri, Path] = {}
    for source in sources:
        other = by_uri.setdefault(source.uri, source.path)
        if other != source.path:
            raise Complaint(
                f"{other} and {source.path} would both be {source.uri}; "
                "serve one of them and add the other: contextfind add PATH --to URI",
                ExitCode.USAGE,
            )
    return list({source.uri: source for source in sources}.values())


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 takes a free one.

    Bound before the data is opened, so that the port cannot be lost in between.

    Raises:
        Complaint: the port is taken, or the address is not this machine's.

    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # Named, because asyncio sends without delay only on sockets that say they are TCP; else the
        # body of every answer waits some 40 ms for the client to acknowledge its head.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise _about_address(error, host, port) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _about_address(error, host, port) from error
    return listener


def _source(path: Path) -> Source:
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - keeps the name of a link
    if not whole.exists():
        raise Complaint(f"there is no {path}; give a file or a directory", ExitCode.USAGE)
    needed = os.R_OK | os.X_OK if whole.is_dir() else os.R_OK
    if not os.access(whole, needed):
        raise Complaint(
            f"cannot read {path}; look at its permissions, or run as its owner", ExitCode.USAGE
        )
    if not whole.name:
        raise Complaint(f"{path} has no name to be found under; give what is in it", ExitCode.USAGE)
    try:
        return Source(whole, RESOURCES.child(whole.name))
    except InvalidUriError as error:
        raise Complaint(f"{error}; rename it", ExitCode.USAGE) from error


def _about_address(error: OSError, host: str, port: int) -> Complaint:
    if error.errno == errno.EADDRINUSE:
        return Complaint(
            f"port {port} on {host} is in use; stop what runs there (contextfind status shows "
            f"whether it is a server of yours), or take another one: --port {port + 1}",
            ExitCode.OCCUPIED,
        )
    reason = error.strerror or str(error)
    return Complaint(
        f"cannot listen on {host} port {port}: {reason}; choose with --host and --port",
        ExitCode.USAGE,
    )
