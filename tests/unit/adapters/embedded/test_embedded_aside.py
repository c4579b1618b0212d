import signal
import socket
from pathlib import Path

import pytest

from contextfind.adapters.embedded.aside import POSSIBLE, done_aside

pytestmark = pytest.mark.skipif(not POSSIBLE, reason="copies of this process need Linux")


def test_what_was_written_aside_is_there_and_what_was_counted_is_not(tmp_path: Path) -> None:
    counted: list[int] = []

    def work() -> None:
        counted.append(1)
        (tmp_path / "file").write_text("done")

    assert done_aside(work)
    assert (tmp_path / "file").read_text() == "done"
    assert counted == []


def test_a_failure_aside_is_told() -> None:
    def work() -> None:
        raise ValueError

    assert not done_aside(work)


def test_a_copy_that_hangs_is_ended() -> None:
    assert not done_aside(signal.pause, patience=0.05)


def test_the_copy_holds_no_connection_open(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(10)

    def work() -> None:
        (tmp_path / "handles").write_text(
            " ".join(sorted(p.name for p in Path("/proc/self/fd").iterdir()))
        )

    with ours, theirs:
        assert done_aside(work)
        theirs.close()
        assert ours.recv(1) == b""
        # only the standard ones, and those of the look and of the file that is written
        assert len((tmp_path / "handles").read_text().split()) <= 5
