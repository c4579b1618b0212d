"""A process that dies with -9 between two halves of something: the next one has all that was promised."""

import contextlib
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import httpx
import pytest

from contextfind.ports.fault_points import FaultPoint
from tests.backends import age
from tests.crash.crowd import Crowd
from tests.crash.program import (
    TELL,
    Before,
    ForkedServer,
    Handle,
    Program,
    dying_at,
    dying_when_told,
    nothing,
    upgrading,
)
from tests.crash.rounds import IDLE
from tests.house.reading import SOURCE
from tests.schemas import ON_POSTGRES, directory_only, environment_of

WAIT_SECONDS = 60.0
PAUSE_SECONDS = 5.0  # in which a server that does nothing else has tidied up
ANSWERS = 15  # enough for some of everything
# How often a server dies there. Commits are of many kinds (requests, tasks, vectors, counts), and only one that a
# client waits for can be acknowledged too early.
WHILE_WORKING = {
    FaultPoint.MID_BLOB: 2,
    FaultPoint.AFTER_BLOBS: 1,
    FaultPoint.BEFORE_COMMIT: 3,
    FaultPoint.AFTER_COMMIT: 2,
    FaultPoint.MID_FOLLOW: 1,
}
IN_A_PAUSE = (FaultPoint.MID_SWEEP, FaultPoint.MID_FORGETTING)
WHEN_STOPPED = (  # or in the pause before, when there is time for it
    FaultPoint.MID_SNAPSHOT,
    FaultPoint.BEFORE_MANIFEST,
    FaultPoint.AFTER_MANIFEST,
)
OF_FILES = WHEN_STOPPED  # a database is its own snapshot


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Crowd]:
    """Return a data directory that was used and closed, and what its users were promised."""
    data = tmp_path_factory.mktemp("lived") / "data"
    return data, live_in(data)


def live_in(data: Path) -> Crowd:
    crowd = Crowd(seed=5)
    with ForkedServer(data) as server:
        server.start(IDLE).wait_healthy()
        with crowd.at_work(server, ANSWERS) as pause:
            pause.set()
        assert server.stop() == 0
    return crowd


@pytest.fixture
def house(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Crowd]:
    """Return a copy of both; a schema is not copied, but lived in anew."""
    data = tmp_path / "data"
    if ON_POSTGRES:
        return data, live_in(data)
    lived: tuple[Path, Crowd] = request.getfixturevalue("lived")
    shutil.copytree(lived[0], data)
    return data, lived[1].copy()


def ended(server: ForkedServer, seconds: float) -> bool:
    """Return whether it has died within so many seconds."""
    assert server.process is not None
    with contextlib.suppress(subprocess.TimeoutExpired):
        assert server.process.wait(seconds) == -signal.SIGKILL, server.output()
    return server.process.poll() is not None


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(point, marks=[directory_only] if point in OF_FILES else [])
        for point in (*WHILE_WORKING, *IN_A_PAUSE, *WHEN_STOPPED)
    ],
    ids=str,
)
def test_a_server_that_dies_there_has_kept_its_promises(
    house: tuple[Path, Crowd], point: FaultPoint
) -> None:
    data, crowd = house
    age(data)
    for turn in range(WHILE_WORKING.get(point, 1)):
        with ForkedServer(data) as server:
            server.start(IDLE, dying_when_told(point)).wait_healthy()
            if turn > 0:
                crowd.check(server)
            live_on(server, crowd, point)
            assert ended(server, WAIT_SECONDS)
    check(data, crowd)


@directory_only  # a database turns a name
def test_a_server_that_dies_as_one_index_replaces_another_begins_anew(
    house: tuple[Path, Crowd],
) -> None:
    data, crowd = house
    with ForkedServer(data) as server:
        server.start(IDLE, dying_at(FaultPoint.MID_SWAP)).wait_healthy()
        with contextlib.suppress(httpx.TransportError):  # it may be done before that is answered
            server.call("POST", "/api/v1/content/reindex", json={})
        with crowd.at_work(server, ANSWERS) as pause:
            pause.set()
        assert ended(server, WAIT_SECONDS)
    assert not (data / "index").exists()
    check(data, crowd)
    assert (data / "index").exists()
    assert [one.name for one in data.glob("index?*")] == []


def live_on(server: ForkedServer, crowd: Crowd, point: FaultPoint) -> None:
    """Let the crowd work until the server dies at a point, or will soon."""
    if point in IN_A_PAUSE:  # it may be reached before they begin
        server.tell(TELL)
    with crowd.at_work(server, ANSWERS) as pause:
        if point not in WHILE_WORKING:
            pause.set()
        else:
            server.tell(TELL)
    if point in WHEN_STOPPED:
        server.tell(TELL)
        server.tell(signal.SIGTERM)
    while point in IN_A_PAUSE and not ended(server, PAUSE_SECONDS):  # there was nothing to do in it
        with crowd.at_work(server, ANSWERS) as pause:
            pause.set()


def run(*words: str, before: Before = nothing, code: int = 0) -> str:
    """Return what a command prints."""
    with tempfile.TemporaryFile() as output:
        handle = Handle(output.fileno())
        ended = Program(words, handle, environment_of(words), before).wait(WAIT_SECONDS)
        output.seek(0)
        told = output.read().decode()
    assert ended == code, told
    return told


def check(data: Path, crowd: Crowd, before: Before = nothing) -> None:
    with ForkedServer(data) as server:
        server.start(IDLE, before).wait_healthy()
        crowd.check(server)


@pytest.mark.parametrize("statement", [4, pytest.param(2, marks=pytest.mark.slow)])
def test_an_upgrade_that_dies_leaves_the_data_to_both_versions(
    house: tuple[Path, Crowd], statement: int
) -> None:
    data, crowd = house
    with ForkedServer(data) as server:
        server.start(IDLE, upgrading(dying_at(FaultPoint.MID_MIGRATION, statement)))
        assert ended(server, WAIT_SECONDS)
    check(data, crowd.copy())
    check(data, crowd, upgrading())
    told = run("serve", "--data", str(data), "--embedder", "hash", "--port", "0", code=3)
    assert re.search("ha(s|ve) version", told)


def test_an_export_that_dies_leaves_the_former_file_and_the_data(
    house: tuple[Path, Crowd], tmp_path: Path
) -> None:
    data, crowd = house
    file = tmp_path / "data.jsonl.zst"
    file.write_bytes(b"the former one")
    words = ("export", str(file), "--data", str(data))
    run(*words, before=dying_at(FaultPoint.MID_EXPORT), code=-signal.SIGKILL)
    assert file.read_bytes() == b"the former one"
    check(data, crowd)
    run(*words)
    assert "is whole" in run("import", str(file), "--verify")
    assert {one.name for one in tmp_path.iterdir()} - {"data"} == {file.name}


def test_an_import_that_dies_is_carried_on(house: tuple[Path, Crowd], tmp_path: Path) -> None:
    data, crowd = house
    file, new = tmp_path / "data.jsonl", tmp_path / "new"
    run("export", str(file), "--data", str(data))
    words = ("import", str(file), "--data", str(new), "--embedder", "hash")
    run(*words, before=dying_at(FaultPoint.MID_IMPORT), code=-signal.SIGKILL)
    run(*words)
    check(new, crowd)


def test_every_point_is_in_the_program_and_no_program_ends_itself_there() -> None:
    sources = "\n".join(
        file.read_text("utf-8") for file in SOURCE.rglob("*.py") if file.name != "fault_points.py"
    )
    assert [point for point in FaultPoint if f"FaultPoint.{point.name})" not in sources] == []
    assert "fault_points import FaultPoint, reached" in sources
    assert not re.search(r"fault_points import .*watch|fault_points\.watch|_watchers", sources)
