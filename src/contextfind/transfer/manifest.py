"""What a backup says of itself: `manifest.json`, and the list of its files that it names; pure."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from contextfind.domain.errors import FailedPreconditionError, InvalidArgumentError

NAME = "manifest.json"
_FORMAT = "contextfind-backup"
_VERSION = 1
_SEAL = "sha256"
_SEGMENT = re.compile(r"(?!\.{1,2}$)[^/\\\x00]+")
_FIELDS = (KeyError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of a backup: where it lies in it, how long it is, its digest (hex).

    to: where in a data directory it belongs.
    """

    path: str
    size: int
    sha256: str
    to: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds.

    contextfind: the version that took it. source: the data directory. schema, position, embedder: of its
    database. counts: rows by table. listing: the file whose lines are its pieces; files, bytes: what they come to.
    damaged: what could not be taken, since it was damaged or lost already.
    """

    taken_at: datetime
    contextfind: str
    source: str
    schema: int
    position: int
    embedder: str
    listing: Piece
    files: int
    bytes: int
    counts: Mapping[str, int] = field(default_factory=dict)
    damaged: Sequence[str] = ()


def manifest_text(manifest: Manifest) -> str:
    """Return the text of `manifest.json`; its last entry is the digest of all others."""
    body = {_FORMAT: _VERSION, **asdict(manifest), "taken_at": manifest.taken_at.isoformat()}
    return _rendered({**body, "damaged": list(manifest.damaged)})


def read_manifest(text: str) -> Manifest:
    """Return what a `manifest.json` says.

    Raises:
        InvalidArgumentError: a byte of it is not what was written.
        FailedPreconditionError: a newer contextfind wrote it.

    """
    try:
        body = json.loads(text)
        _check_version(body)
        seal = body.pop(_SEAL)
        if _rendered(body) != text or seal != _digest(body):
            raise ValueError
        del body[_FORMAT]
        taken_at = datetime.fromisoformat(body.pop("taken_at"))
        listing = _piece(body.pop("listing"))
        return Manifest(taken_at=taken_at, listing=listing, **body)
    except _FIELDS:
        raise InvalidArgumentError(f"{NAME} is not what was written") from None


def piece_line(piece: Piece) -> str:
    """Return a line of the list, with its end."""
    return json.dumps(asdict(piece)) + "\n"


def read_piece(line: str) -> Piece:
    """Return what a line of the list says.

    Raises:
        InvalidArgumentError: it is none, or names a place outside of the directory.

    """
    try:
        return _piece(json.loads(line))
    except _FIELDS:
        raise InvalidArgumentError("the list of files is not what was written") from None


def _piece(values: Mapping[str, Any]) -> Piece:
    piece = Piece(**values)
    for place in (piece.path, piece.to):
        if not all(_SEGMENT.fullmatch(segment) for segment in place.split("/")):
            raise ValueError(place)
    return piece


def _check_version(body: Mapping[str, Any]) -> None:
    version = body[_FORMAT]
    if isinstance(version, int) and version > _VERSION:
        raise FailedPreconditionError(
            f"the backup has version {version}, this contextfind knows up to {_VERSION}; "
            "restore it with the contextfind that took it"
        )


def _rendered(body: Mapping[str, Any]) -> str:
    return json.dumps({**body, _SEAL: _digest(body)}, indent=2) + "\n"


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body).encode()).hexdigest()
