"""One process per data directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contextfind.adapters.files.lock import DirectoryLock
from contextfind.domain.errors import FailedPreconditionError

HOLDER = """
import sys, pathlib
from contextfind.adapters.files.lock import DirectoryLock
lock = DirectoryLock(pathlib.Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_and_told_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:  # noqa: S603 - our own program
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(FailedPreconditionError) as caught:
            DirectoryLock(tmp_path).acquire()
        for told in (str(tmp_path), str(holder.pid), "stop that one", "storage.path"):
            assert told in str(caught.value)
        holder.kill()
    with DirectoryLock(tmp_path):
        pass


def test_a_released_directory_can_be_taken_again(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path / "made") as lock:
        assert (tmp_path / "made" / "contextfind.pid").read_text() == f"{os.getpid()}\n"
    lock.release()
    with DirectoryLock(tmp_path / "made"):
        pass


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FailedPreconditionError, match="cannot be written"):
        DirectoryLock(tmp_path / "file").acquire()


def test_a_directory_that_is_made_is_its_owners_alone_and_one_that_is_there_stays_as_it_is(
    tmp_path: Path,
) -> None:
    with DirectoryLock(tmp_path / "new"):
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    (tmp_path / "old").mkdir()
    (tmp_path / "old").chmod(0o750)
    with DirectoryLock(tmp_path / "old"):
        assert (tmp_path / "old").stat().st_mode & 0o777 == 0o750
