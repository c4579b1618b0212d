"""A data directory saved, also while a server works on it."""

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from pathlib import Path

from contextfind import __version__
from contextfind.adapters.files.backups import LISTING, BackupDirectory, Taken, text_of
from contextfind.adapters.files.stillness import Stillness
from contextfind.adapters.sqlite.copying import Contents, copy_database, named_blobs
from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.domain.errors import (
    DamagedError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from contextfind.ports.fault_points import FaultPoint, reached
from contextfind.transfer.manifest import (
    Manifest,
    Piece,
    manifest_text,
    piece_line,
    read_manifest,
    read_piece,
)
from contextfind.wiring.progress import Told

DATABASE, BLOBS, INDEX, UPLOADS = "database", "blobs", "index", "uploads"

_THREADS = 4  # they wait for the disk, and what they compute needs no interpreter for large files
_AT_ONCE = 512  # blobs between two signs of life
_TRIES = 5  # a snapshot of the index lives for a minute, and it takes less to read one
_IN_INDEX = re.compile(r"\b([0-9a-f]{64})\.[a-z]+\b")
_INDEX_MANIFEST = "manifest.json"


@dataclass(slots=True)
class Share:
    """So many files and bytes of one kind are in a backup, so many of them were copied this time."""

    files: int = 0
    bytes: int = 0
    copied_files: int = 0
    copied_bytes: int = 0

    def add(self, taken: Taken) -> None:
        """Count a file."""
        self.files += 1
        self.bytes += taken.size
        self.copied_files += taken.copied
        self.copied_bytes += taken.size * taken.copied


@dataclass(frozen=True, slots=True)
class Saved:
    """A backup that was taken; shares by kind: `database`, `blobs`, `index`, `uploads`."""

    manifest: Manifest
    shares: Mapping[str, Share]


def take_backup(data: Path, target: Path, now: datetime, told: Told) -> Saved:
    """Save a data directory, whether a server works on it or not; what the target has already is not copied again.

    All that was acknowledged before it began is in it. The order is what makes it so: uploads first, since one goes
    away when its task has ended; then the index, which may stand behind the database and not before it; then the
    database as of one moment; then the blobs that it names, none of which is taken away meanwhile.

    Raises:
        FailedPreconditionError: another backup is being taken, the target holds something else, or newer data.
        UnavailableError: the disk refuses, or the database is damaged. NotFoundError: there is no data.

    """
    source, target = data.resolve(), target.resolve()
    if target.is_relative_to(source) or source.is_relative_to(target):
        raise FailedPreconditionError(f"a backup of {source} cannot lie in it or around it")
    backup = BackupDirectory(target)
    with backup.opened_to_write(), Stillness(source).held():
        _check_same_source(backup, source)
        return _Taking(source, backup, told).run(now)


@dataclass(slots=True)
class _Taking:
    source: Path
    backup: BackupDirectory
    told: Told
    shares: dict[str, Share] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)

    def run(self, now: datetime) -> Saved:
        backup = self.backup
        before = [*self._uploads(), *self._index()]
        contents, database = self._database()
        pieces = chain([database], before, self._blobs(backup.place(database.path)))
        with backup.list_to_write() as stream:
            for piece in pieces:
                stream.write(piece_line(piece))
        listing = backup.adopt(LISTING, ".jsonl")
        reached(FaultPoint.MID_BACKUP)
        manifest = self._manifest(now, contents, _piece(listing, listing.path))
        backup.finish(manifest_text(manifest))
        backup.sweep(listing, lambda line: read_piece(line).path)
        return Saved(manifest, self.shares)

    def _manifest(self, now: datetime, contents: Contents, listing: Piece) -> Manifest:
        return Manifest(
            taken_at=now,
            contextfind=__version__,
            source=str(self.source),
            schema=contents.schema,
            position=contents.position,
            embedder=contents.fingerprint,
            listing=listing,
            files=sum(share.files for share in self.shares.values()),
            bytes=sum(share.bytes for share in self.shares.values()),
            counts=contents.counts,
            damaged=sorted(self.damaged),
        )

    def _uploads(self) -> list[Piece]:
        """Take uploads whose sidecar is there; one that goes away meanwhile has done its work."""
        pieces = []
        for sidecar in sorted((self.source / UPLOADS).glob("*.json")):
            try:
                both = [
                    self.backup.take(sidecar.with_name(name), f"{UPLOADS}/{name}")
                    for name in (sidecar.stem, sidecar.name)
                ]
            except NotFoundError:
                continue
            for one in both:
                self._share(UPLOADS).add(one)
                pieces.append(_piece(one, one.path))
        return pieces

    def _index(self) -> list[Piece]:
        """Take a snapshot of the search index; none when it is damaged: a server builds it anew."""
        for _ in range(_TRIES):
            text = text_of(self.source / INDEX / _INDEX_MANIFEST)
            if text is None:
                return []
            names = {found.group(): found.group(1) for found in _IN_INDEX.finditer(text)}
            try:
                taken = [
                    self.backup.take(self.source / INDEX / name, f"{INDEX}/{name}", sha256)
                    for name, sha256 in names.items()
                ]
            except NotFoundError:  # the next snapshot has taken its place
                continue
            except DamagedError:
                return []
            last = self.backup.put(text, INDEX, ".json")
            for one in (*taken, last):
                self._share(INDEX).add(one)
            pieces = [_piece(one, one.path) for one in taken]
            return [*pieces, _piece(last, f"{INDEX}/{_INDEX_MANIFEST}")]
        return []

    def _database(self) -> tuple[Contents, Piece]:
        contents = copy_database(
            self.source,
            self.backup.draft,
            lambda done, pages: self.told("database", done, pages, "pages"),
        )
        taken = self.backup.adopt(DATABASE, ".db")
        self._share(DATABASE).add(taken)
        return contents, _piece(taken, FILE_NAME)

    def _blobs(self, database: Path) -> Iterator[Piece]:
        """Take what the copied database names, in order; what is not there and has to be is damage."""
        total = sum(1 for _ in named_blobs(database))
        names, done = named_blobs(database), 0
        with ThreadPoolExecutor(_THREADS, "backup") as pool:
            while group := list(islice(names, _AT_ONCE)):
                for taken in pool.map(self._blob, group):
                    if taken is not None:
                        self._share(BLOBS).add(taken)
                        yield _piece(taken, taken.path)
                done += len(group)
                self.told("files", done, total, "files")

    def _blob(self, named: tuple[str, bool]) -> Taken | None:
        digest, needed = named
        path = f"{BLOBS}/{digest[:2]}/{digest[2:]}"
        try:
            return self.backup.take(self.source / path, path, digest)
        except (NotFoundError, DamagedError):
            if needed:
                self.damaged.append(path)
            return None

    def _share(self, kind: str) -> Share:
        return self.shares.setdefault(kind, Share())


def _piece(taken: Taken, to: str) -> Piece:
    return Piece(taken.path, taken.size, taken.sha256, to)


def _check_same_source(backup: BackupDirectory, source: Path) -> None:
    """Refuse to put the data of one directory in the place of another's."""
    text = backup.manifest
    try:
        before = None if text is None else read_manifest(text)
    except InvalidArgumentError:  # it cannot be restored: a new one does no harm
        return
    if before is not None and before.source != str(source):
        raise FailedPreconditionError(
            f"there is a backup of {before.source} already; name another directory for that of {source}"
        )
