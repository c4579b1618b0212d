"""What deletes and updates leave behind goes away by itself, and kill -9 in the middle of that costs nothing."""

import concurrent.futures
import io
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.schemas import directory_only

IDLE = {"CONTEXTFIND_STORAGE__IDLE_SECONDS": "0.1"}
DIRECTORIES = 10
SECONDS = (
    60.0  # in which a server that does nothing else has tidied up; about 10 on an idle machine
)


def body(number: int) -> str:
    paragraph = f"Paragraph about topic{number % 7} of note{number}x. " * 12
    return f"# Note {number}\n\n{paragraph}\n\n## End\n\nmarker{number}q closes it.\n" * 2


def name(number: int) -> str:
    return f"d{number % DIRECTORIES}/n{number}.md"


def uri(number: int) -> str:
    return f"viking://resources/notes/{name(number)}"


def write(server: ServerProcess, number: int) -> None:
    request = {"uri": uri(number), "content": body(number), "mode": "create"}
    server.call("POST", "/api/v1/content/write", json=request)


def remove(server: ServerProcess, number: int) -> None:
    server.call("DELETE", "/api/v1/fs", params={"uri": uri(number)})


def add(server: ServerProcess, numbers: range) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in numbers:
            archive.writestr(name(number), body(number))
    upload = server.call(
        "POST",
        "/api/v1/resources/temp_upload",
        files={"file": ("notes.zip", packed.getvalue(), "application/zip")},
    )
    request = {"temp_file_id": upload["temp_file_id"], "to": "viking://resources/notes"}
    server.call("POST", "/api/v1/resources", json={**request, "wait": True})


def settle(server: ServerProcess) -> None:
    server.call("POST", "/api/v1/system/wait", json={"timeout": 60})


def size(directory: Path) -> int:
    """Return the bytes of all files; one that goes away meanwhile has none."""
    total = 0
    for file in directory.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue
    return total


def blobs(data: Path) -> set[str]:
    return {file.name for file in (data / "blobs").rglob("*") if file.is_file()}


def until(done: Callable[[], bool], seconds: float = SECONDS) -> bool:
    """Return whether it came true in time."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.1)  # noqa: TID251 - a test waits for another process
    return done()


@directory_only  # bytes on disk
@pytest.mark.parametrize(
    ("writes", "seconds"), [(100, SECONDS), pytest.param(5_000, 600.0, marks=pytest.mark.slow)]
)
def test_R116_single_writes_and_deletes_end_within_three_times_a_fresh_load(  # noqa: N802 - a case
    tmp_path: Path, writes: int, seconds: float
) -> None:
    left = range(writes // 2, writes)
    with (
        ForkedServer(tmp_path / "lived") as lived,
        ForkedServer(tmp_path / "fresh") as fresh,
    ):
        fresh.start(IDLE).wait_healthy()
        add(fresh, left)
        settle(fresh)
        lived.start(IDLE).wait_healthy()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: write(lived, number), range(writes)))
            settle(lived)
            list(pool.map(lambda number: remove(lived, number), range(writes // 2)))
        settle(lived)
        same_blobs = until(lambda: blobs(lived.data) == blobs(fresh.data), seconds)
        small = until(lambda: size(lived.data) <= 3 * size(fresh.data), seconds)
        told = f"{size(lived.data)} bytes, {size(fresh.data)} after a fresh load"
        assert small, f"{told}\n{lived.output()}"
        assert same_blobs, lived.output()
        question = f"marker{writes - 1}q closes it"
        assert lived.find(question, limit=1, level=2) == fresh.find(question, limit=1, level=2)


def replace(server: ServerProcess, number: int, text: str) -> None:
    request = {"uri": uri(number), "content": text, "mode": "replace"}
    server.call("POST", "/api/v1/content/write", json=request)


def contents(server: ServerProcess, numbers: range) -> list[str]:
    read = "/api/v1/content/read"
    return [server.call("GET", read, params={"uri": uri(number)}) for number in numbers]


def fewer_blobs(data: Path, before: int) -> bool:
    return len(blobs(data)) < before


@directory_only
@pytest.mark.slow  # test_fault_points has one that dies there
def test_kill_9_in_the_middle_of_a_sweep_loses_nothing_and_the_next_one_ends_it(
    tmp_path: Path,
) -> None:
    numbers = range(24)
    passing, wanted, others = ([f"{v}: {body(n)}" for n in numbers] for v in range(3))
    for texts in (others, wanted):  # those of the second round may lie there already
        with ForkedServer(tmp_path / "data") as server:
            server.start(IDLE).wait_healthy()
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(partial(replace, server), numbers, passing))
                list(pool.map(partial(replace, server), numbers, texts))
            settle(server)
            most = len(blobs(server.data))
            assert until(partial(fewer_blobs, server.data, most)), server.output()
            server.kill()
    with ForkedServer(tmp_path / "data") as server:
        server.start(IDLE).wait_healthy()
        settle(server)
        assert contents(server, numbers) == wanted
        named = len(numbers) + DIRECTORIES + 2  # bodies, overviews, those of notes and its parent
        assert until(lambda: len(blobs(server.data)) <= named), server.output()
        assert contents(server, numbers) == wanted
        assert server.find("marker7q closes it", limit=1, level=2)[0]["uri"] == uri(7)


def compacting(data: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "contextfind.cli", "compact", "--data", str(data)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - our own program


@directory_only
@pytest.mark.slow  # starts six processes
def test_kill_9_in_the_middle_of_compact_leaves_the_data_whole(tmp_path: Path) -> None:
    data = tmp_path / "data"
    numbers = range(40)
    with ForkedServer(data) as server:
        server.start({"CONTEXTFIND_STORAGE__IDLE_SECONDS": "0"}).wait_healthy()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: replace(server, n, f"passing {body(n)}"), numbers))
            list(pool.map(lambda n: replace(server, n, body(n)), numbers))
        settle(server)
        assert server.stop() == 0
    before = size(data)
    for milliseconds in (5, 20, 60, 150):
        with compacting(data) as process:
            assert until((data / "contextfind.pid").exists)  # it has the data open
            time.sleep(milliseconds / 1000)  # noqa: TID251 - whatever it is doing then
            process.kill()
        (data / "contextfind.pid").unlink(missing_ok=True)
    with compacting(data) as process:
        assert process.wait(SECONDS) == 0
    assert size(data) < before
    with ForkedServer(data) as server:
        server.start().wait_healthy()
        assert contents(server, numbers) == [body(number) for number in numbers]
        assert server.find("marker7q closes it", limit=1, level=2)[0]["uri"] == uri(7)
