"""Named moments at which a test ends the process; for everybody else nothing happens there.

No setting and no variable of the environment reaches them: only code that calls `watch` does, and
none of contextfind does. No find passes one.
"""

from collections.abc import Callable
from enum import StrEnum


class FaultPoint(StrEnum):
    """Where a process that dies has done one half of something.

    Each value says what was done last.
    """

    MID_MIGRATION = "mid-migration"  # a statement of a new version of the tables, not committed
    MID_BLOB = "mid-blob"  # a body under another name, or in an open transaction
    AFTER_BLOBS = "after-blobs"  # bodies under their names, no record of them
    BEFORE_COMMIT = "before-commit"  # all rows of a transaction
    AFTER_COMMIT = "after-commit"  # the transaction; nobody was told
    MID_FOLLOW = "mid-follow"  # the new rows of the index, which stands where it stood
    MID_SNAPSHOT = "mid-snapshot"  # a file of the index under another name
    BEFORE_MANIFEST = "before-manifest"  # all files of a snapshot and a manifest under another name
    AFTER_MANIFEST = "after-manifest"  # the snapshot; those before lie beside it
    MID_SWAP = "mid-swap"  # an index that another one is to replace is aside, and none in its place
    MID_SWEEP = "mid-sweep"  # some bodies that nobody names are gone, or in an open transaction
    MID_FORGETTING = "mid-forgetting"  # some entries of the log are gone; rows, not committed
    MID_EXPORT = "mid-export"  # some records in an export under another name
    MID_BACKUP = "mid-backup"  # all files of a backup and their list; no manifest that names it
    MID_RESTORE = "mid-restore"  # some files of a new data directory
    MID_IMPORT = "mid-import"  # a block of an export


_watchers: list[Callable[[FaultPoint], None]] = []


def watch(watcher: Callable[[FaultPoint], None]) -> None:
    """Have a test told of every point from now on, in the thread that reaches it."""
    _watchers.append(watcher)


def reached(point: FaultPoint) -> None:
    """Pass a point."""
    for watcher in _watchers:
        watcher(point)
