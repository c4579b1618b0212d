"""A disk that is full or read-only and a clock that is wrong, for the real program and without being root."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
POSSIBLE = sys.platform == "linux" and shutil.which("cc") is not None


def compiled(room: Path) -> Path:
    """Return the library that does it, made in a directory."""
    library = room / "surroundings.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own source
    return library


class Surroundings:
    """What a process meets that was started with this `environment`.

    below: the directory whose disk it is. flags: a directory of the test's own.
    """

    def __init__(self, library: Path, flags: Path, below: Path) -> None:
        flags.mkdir()
        self._flags = flags
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(library),
            "SURROUNDINGS": str(flags),
            "SURROUNDED": str(below),
        }

    @contextmanager
    def full(self) -> Iterator[None]:
        """Let the disk take nothing until the context ends."""
        with self._flag("full"):
            yield

    @contextmanager
    def readonly(self) -> Iterator[None]:
        """Let the disk be read-only until the context ends."""
        with self._flag("readonly"):
            yield

    def set_clock(self, seconds: int) -> None:
        """Let the time of day be wrong by so many seconds from now on."""
        draft = self._flags / "clock.part"
        draft.write_text(str(seconds))
        draft.replace(self._flags / "clock")

    @contextmanager
    def _flag(self, name: str) -> Iterator[None]:
        (self._flags / name).touch()
        try:
            yield
        finally:
            (self._flags / name).unlink()


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[None]:
    """Mount a disk of its own at a directory, in memory; only root can."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    assert mount is not None
    assert umount is not None
    place.mkdir()
    subprocess.run([mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)  # noqa: S603 - ours
    try:
        yield
    finally:
        subprocess.run([umount, "--lazy", str(place)], check=True)  # noqa: S603 - ours


@contextmanager
def unwritable(place: Path) -> Iterator[None]:
    """Let nobody write to a directory; for root, who may, it becomes a read-only mount."""
    if os.geteuid() != 0:
        place.chmod(0o555)
        try:
            yield
        finally:
            place.chmod(0o755)
        return
    mount, umount = shutil.which("mount"), shutil.which("umount")
    assert mount is not None
    assert umount is not None
    subprocess.run([mount, "--bind", str(place), str(place)], check=True)  # noqa: S603 - ours
    try:
        subprocess.run([mount, "-o", "remount,bind,ro", str(place)], check=True)  # noqa: S603 - ours
        yield
    finally:
        subprocess.run([umount, str(place)], check=True)  # noqa: S603 - ours


def can_mount() -> bool:
    """Return whether this process may mount a disk."""
    mount = shutil.which("mount")
    if sys.platform != "linux" or os.geteuid() != 0 or mount is None:
        return False
    probe = subprocess.run(  # noqa: S603 - ours
        [mount, "--fake", "-t", "tmpfs", "tmpfs", "/mnt"], check=False, capture_output=True
    )
    return probe.returncode == 0
