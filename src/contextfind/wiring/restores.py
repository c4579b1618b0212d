"""A new data directory made of a backup."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from contextfind.adapters.files.backups import BackupDirectory
from contextfind.adapters.files.lock import DirectoryLock
from contextfind.adapters.files.restored import being_restored, check_empty
from contextfind.adapters.sqlite.copying import KNOWN_SCHEMA
from contextfind.domain.errors import FailedPreconditionError, InvalidArgumentError
from contextfind.ports.fault_points import FaultPoint, reached
from contextfind.transfer.manifest import NAME, Manifest, Piece, read_manifest, read_piece
from contextfind.wiring.progress import Told

_THREADS = 4  # they wait for the disk, and digests of large files need no interpreter
_AT_ONCE = 512  # files between two signs of life
_NAMED = 100  # damaged files; one is enough to refuse


def check_backup(directory: Path, told: Told) -> Manifest:
    """Read every byte of a backup, and return what it says of itself when all are as they were written.

    Raises:
        InvalidArgumentError: there is no backup, it was not finished, or some of it is damaged, which the message
            names. FailedPreconditionError: a newer contextfind took it. UnavailableError: the disk refuses.

    """
    backup = BackupDirectory(directory)
    manifest = _manifest_of(backup, directory)
    if fault := backup.fault(manifest.listing):
        raise InvalidArgumentError(f"{manifest.listing.path} {fault}")
    wrong: list[str] = []
    done = 0
    with _groups(backup, manifest) as groups, ThreadPoolExecutor(_THREADS, "check") as pool:
        for group in groups:
            faults = zip(group, pool.map(backup.fault, group), strict=True)
            wrong += [f"{piece.path} {fault}" for piece, fault in faults if fault]
            done += len(group)
            told("checked", done, manifest.files, "files")
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise InvalidArgumentError(f"{wrong[0]}{more}", {"wrong": wrong[:_NAMED]})
    return manifest


def restore_backup(directory: Path, data: Path, told: Told) -> Manifest:
    """Make a new data directory of a backup, once every byte of that has been checked.

    Raises:
        FailedPreconditionError: the data directory is in use or not empty, or a newer contextfind took the backup.
        InvalidArgumentError, UnavailableError: as for `check_backup`; nothing was written then.

    """
    check_empty(data)
    manifest = check_backup(directory, told)
    backup = BackupDirectory(directory)
    with DirectoryLock(data):
        check_empty(data)
        with (
            being_restored(data),
            _groups(backup, manifest) as groups,
            ThreadPoolExecutor(_THREADS, "restore") as pool,
        ):
            done = 0
            for group in groups:
                list(pool.map(lambda piece: backup.give(piece, data / piece.to), group))
                done += len(group)
                told("restored", done, manifest.files, "files")
                reached(FaultPoint.MID_RESTORE)
    return manifest


def _manifest_of(backup: BackupDirectory, directory: Path) -> Manifest:
    text = backup.manifest
    if text is None:
        raise InvalidArgumentError(
            f"{NAME} is missing, a backup was begun there and not finished; take it again with: "
            f"contextfind backup {directory}"
            if backup.begun
            else f"{NAME} is missing, there is no backup"
        )
    manifest = read_manifest(text)
    if manifest.schema > KNOWN_SCHEMA:
        raise FailedPreconditionError(
            f"the backup was taken by contextfind {manifest.contextfind}, which is newer; "
            "restore it with that one"
        )
    return manifest


@contextmanager
def _groups(backup: BackupDirectory, manifest: Manifest) -> Iterator[Iterator[list[Piece]]]:
    """Give the pieces, some hundreds at a time."""
    with backup.lines(manifest.listing) as lines:
        yield iter(lambda: [read_piece(line) for line in islice(lines, _AT_ONCE)], [])
