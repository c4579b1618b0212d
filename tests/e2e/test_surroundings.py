"""Full and read-only disks, a clock that is set back, a second server: the right message, and nothing is lost."""

import io
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.schemas import directory_only
from tests.stubs.surroundings import (
    POSSIBLE,
    Surroundings,
    can_mount,
    compiled,
    small_disk,
    unwritable,
)
from tests.unit.cli.calling import call

IDLE = {"CONTEXTFIND_STORAGE__IDLE_SECONDS": "0.1"}  # so that the housekeeper meets it too
SECONDS = 60.0
DAY = 24 * 60 * 60
FILES = 60  # of an ingest that runs into a full disk

needs_compiler = pytest.mark.skipif(not POSSIBLE, reason="needs Linux and a C compiler")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("library"))


@pytest.fixture
def around(library: Path, tmp_path: Path) -> Surroundings:
    return Surroundings(library, tmp_path / "flags", tmp_path / "data")


def uri(name: str) -> str:
    return f"viking://resources/notes/{name}.md"


def body(name: str) -> str:
    return f"# Note {name}\n\nThe quokka of marker{name}q sleeps below the harbour crane.\n"


def write(server: ServerProcess, name: str, **fields: object) -> httpx.Response:
    request = {"uri": uri(name), "content": body(name), "mode": "replace", **fields}
    return server.http.post("/api/v1/content/write", json=request)


def found(server: ServerProcess, name: str, **fields: object) -> bool:
    hits = server.find(f"marker{name}q", limit=1, level=2, **fields)
    return [hit["uri"] for hit in hits] == [uri(name)]


def text_of(server: ServerProcess, name: str) -> str | None:
    answer = server.http.get("/api/v1/content/read", params={"uri": uri(name)})
    return str(answer.json()["result"]) if answer.status_code == 200 else None


def uploaded(server: ServerProcess, prefix: str) -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(FILES):
            archive.writestr(f"{prefix}{number}.md", body(f"{prefix}{number}"))
    files = {"file": ("notes.zip", packed.getvalue(), "application/zip")}
    upload = server.call("POST", "/api/v1/resources/temp_upload", files=files)
    return str(upload["temp_file_id"])


def add(server: ServerProcess, upload: str, **fields: object) -> httpx.Response:
    request: dict[str, object] = {"temp_file_id": upload, "to": "viking://resources/notes"}
    request |= fields
    return server.http.post("/api/v1/resources", json=request)


def settled(server: ServerProcess) -> None:
    server.call("POST", "/api/v1/system/wait", json={"timeout": SECONDS})


def ended(server: ServerProcess, task: str) -> dict[str, Any]:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        told: dict[str, Any] = server.call("GET", f"/api/v1/tasks/{task}")
        if told["status"] not in {"pending", "running"}:
            return told
        time.sleep(0.05)  # noqa: TID251 - a test waits for another process
    raise AssertionError(server.output())


def refused(answer: httpx.Response, told: str) -> bool:
    """Whether an answer is the failure that is meant, in its envelope."""
    envelope = answer.json()
    assert answer.status_code == 503, answer.text
    assert (envelope["status"], envelope["result"]) == ("error", None)
    assert envelope["error"]["code"] == "UNAVAILABLE"
    return told in envelope["error"]["message"]


def writes_of_all_kinds(server: ServerProcess) -> list[httpx.Response]:
    file = {"file": ("late.md", b"# Late", "text/markdown")}
    message = {"role": "user", "content": "was this heard?"}
    return [
        write(server, "late"),
        write(server, "kept", content="# Overwritten"),
        server.http.request("DELETE", "/api/v1/fs", params={"uri": uri("kept")}),
        server.http.post("/api/v1/fs/mkdir", json={"uri": "viking://resources/late"}),
        server.http.post("/api/v1/resources/temp_upload", files=file),
        server.http.post("/api/v1/sessions/talk/messages", json=message),
    ]


@contextmanager
def filled(place: Path) -> Iterator[None]:
    """Write to a disk until it takes nothing more."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as stream:
        for size in (65_536, 512, 1):
            try:
                while stream.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


def check_nothing_lost(server: ServerProcess) -> None:
    assert text_of(server, "kept") == body("kept")
    assert found(server, "kept")
    assert text_of(server, "late") is None
    context = server.call("GET", "/api/v1/sessions/talk/context")
    assert [one["parts"][0]["text"] for one in context["messages"]] == ["remember the crane"]


def prepared(server: ServerProcess) -> None:
    assert write(server, "kept", wait=True).status_code == 200
    said = {"role": "user", "content": "remember the crane"}
    server.call("POST", "/api/v1/sessions/talk/messages", json=said)


def check_disk(
    server: ServerProcess, trouble: Callable[[], AbstractContextManager[None]], told: str
) -> None:
    """Hold a server to its promises while its disk takes nothing, and from then on."""
    prepared(server)
    upload = uploaded(server, "a")
    task = add(server, upload).json()["result"]["task_id"]
    with trouble():
        answers = writes_of_all_kinds(server)
        assert all(refused(answer, told) for answer in answers[:1])
        assert {answer.status_code for answer in answers} == {503}
        assert server.http.get("/health").status_code == 200
        check_nothing_lost(server)
        time.sleep(0.5)  # noqa: TID251 - what works behind the requests meets it too
    assert ended(server, task)["status"] == "completed"  # it was accepted before
    assert [answer.status_code for answer in writes_of_all_kinds(server)] == [200] * 6
    assert write(server, "kept").status_code == 200
    settled(server)
    for name in ("kept", "late", "a0", f"a{FILES - 1}"):
        assert text_of(server, name) == body(name)
        assert found(server, name)
    assert "Traceback" not in server.output()


@directory_only  # the disk of a database is that of another machine
@needs_compiler
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("full", "the disk of the server is full"),
        pytest.param("readonly", "the disk of the server is read-only", marks=pytest.mark.slow),
    ],
)
def test_a_disk_that_takes_nothing_is_said_and_gets_over(
    around: Surroundings, tmp_path: Path, kind: str, told: str
) -> None:
    with ServerProcess(tmp_path / "data") as server:
        server.start({**IDLE, **around.environment}).wait_healthy()
        check_disk(server, getattr(around, kind), told)
        assert server.stop() == 0
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert text_of(server, "late") == body("late")
        assert found(server, f"a{FILES - 1}")


@directory_only
@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="only root can mount a disk")
def test_a_real_disk_that_is_full_is_said_and_gets_over(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "32m"), ForkedServer(disk / "data") as server:
        server.start(IDLE).wait_healthy()
        prepared(server)
        with filled(disk):
            answer = write(server, "late", content=body("late") * 2_000)
            assert refused(answer, "the disk of the server is full")
            check_nothing_lost(server)
        assert write(server, "late", wait=True).status_code == 200
        upload = uploaded(server, "a")
        with filled(disk):
            began = add(server, upload)
            assert began.status_code in {200, 503}  # a row may still find room
            check = server.http.get("/health")
            assert check.status_code == 200
            time.sleep(1)  # noqa: TID251 - the task and what works behind it meet the full disk
        if began.status_code == 200:
            assert ended(server, began.json()["result"]["task_id"])["status"] == "completed"
        else:
            assert add(server, upload, wait=True).status_code == 200
        settled(server)
        for name in ("kept", "late", "a0", f"a{FILES - 1}"):
            assert text_of(server, name) == body(name)
            assert found(server, name)
        assert server.stop() == 0, server.output()


@directory_only
@pytest.mark.skipif(os.geteuid() == 0 and not can_mount(), reason="root may write everywhere")
def test_a_data_directory_that_cannot_be_written_is_one_line_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ForkedServer(data) as server:
        server.start().wait_healthy()
        assert write(server, "kept", wait=True).status_code == 200
        assert server.stop() == 0
    with unwritable(data), ForkedServer(data) as server:
        server.start()
        assert server.process is not None
        assert server.process.wait(SECONDS) == 2
        [line] = server.output().splitlines()
        assert f"{data} cannot be written" in line
        result = call("backup", str(tmp_path / "saved"), "--data", str(data))
        assert result.exit_code == 1
        assert f"{data} cannot be written (" in result.stderr
    with ForkedServer(data) as server:
        server.start().wait_healthy()
        assert found(server, "kept")


def check_conversation(server: ServerProcess) -> None:
    """Say something when the clock stands before what was said last."""
    said = {"role": "user", "content": "and then the clock was set"}
    server.call("POST", "/api/v1/sessions/talk/messages", json=said)
    context = server.call("GET", "/api/v1/sessions/talk/context")
    told = [one["parts"][0]["text"] for one in context["messages"]]
    assert told == ["remember the crane", "and then the clock was set"]
    commit = server.call("POST", "/api/v1/sessions/talk/commit")
    assert ended(server, commit["task_id"])["status"] == "completed"


@directory_only
@needs_compiler
@pytest.mark.slow
def test_a_backup_that_finds_no_room_says_so_and_leaves_the_one_before(
    library: Path, tmp_path: Path
) -> None:
    data, saved = tmp_path / "data", tmp_path / "saved"
    around = Surroundings(library, tmp_path / "flags", saved)
    with ForkedServer(data) as server:
        server.start().wait_healthy()
        assert write(server, "kept", wait=True).status_code == 200
        assert call("backup", str(saved), "--data", str(data)).exit_code == 0
        assert write(server, "late", wait=True).status_code == 200
        command = [sys.executable, "-m", "contextfind.cli", "backup", str(saved)]
        with around.full():
            done = subprocess.run(  # noqa: S603 - our own program
                [*command, "--data", str(data)],
                env={**os.environ, **around.environment},
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        assert done.returncode == 1
        assert "No space left on device" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
    assert call("restore", str(saved), "--data", str(tmp_path / "new")).exit_code == 0
    with ForkedServer(tmp_path / "new") as server:
        server.start().wait_healthy()
        assert [text_of(server, name) for name in ("kept", "late")] == [body("kept"), None]
    assert call("backup", str(saved), "--data", str(data)).exit_code == 0


@needs_compiler
def test_a_clock_that_jumps_back_a_day_breaks_nothing(around: Surroundings, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ServerProcess(data) as server:
        server.start({**IDLE, **around.environment}).wait_healthy()
        prepared(server)
        task = add(server, uploaded(server, "a")).json()["result"]["task_id"]
        around.set_clock(-DAY)
        assert ended(server, task)["status"] == "completed"
        assert write(server, "after", wait=True).status_code == 200
        assert write(server, "kept", wait=True).status_code == 200  # older now than it was made
        assert [found(server, name) for name in ("after", "kept", "a0")] == [True] * 3
        assert found(server, "after", since="1h")
        check_conversation(server)
        server.call("DELETE", "/api/v1/fs", params={"uri": uri("a0")})
        assert add(server, uploaded(server, "a"), wait=True).status_code == 200
        server.call("DELETE", "/api/v1/fs", params={"uri": uri("a1")})
        assert server.stop() == 0
        assert "Traceback" not in server.output()
    with ServerProcess(data) as server:  # that starts in the past
        server.start(around.environment).wait_healthy()
        found_then = [found(server, name) for name in ("after", "kept", "a0", "a1", "a2")]
        assert found_then == [True, True, True, False, True]
        around.set_clock(0)
        changed = body("after") + "\nAt the right time.\n"
        assert write(server, "after", content=changed, wait=True).status_code == 200
        assert found(server, "after", since="1h")


@directory_only  # it has a lock
def test_R111_a_second_server_on_one_directory_exits_at_once_and_harms_nothing(  # noqa: N802 - a case
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(ForkedServer(tmp_path / "data"))
        start_seconds = first.start().wait_healthy()
        assert write(first, "kept", wait=True).status_code == 200
        second = stack.enter_context(ForkedServer(tmp_path / "data"))
        began = time.monotonic()
        second.start()
        assert second.process is not None
        assert second.process.wait(SECONDS) == 3
        assert time.monotonic() - began < max(5, 5 * start_seconds)  # more where all is slow
        [line] = second.output().splitlines()
        assert "is in use by the process" in line
        assert write(first, "after", wait=True).status_code == 200
        assert [found(first, name) for name in ("kept", "after")] == [True] * 2
        assert first.stop() == 0
    with ForkedServer(tmp_path / "data") as third:
        third.start().wait_healthy()
        assert [found(third, name) for name in ("kept", "after")] == [True] * 2


def test_R127_no_route_writes_where_a_caller_says(tmp_path: Path) -> None:  # noqa: N802 - a case
    evil = tmp_path / "evil.pack"
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        assert write(server, "kept", wait=True).status_code == 200
        before = {file for file in tmp_path.rglob("*") if "evil" in file.name}
        for route in ("pack/export", "system/backup", "content/export", "export"):
            for place in (str(evil), "../../evil.pack", "../../x"):
                asked = {"uri": "viking://resources/notes", "to": place}
                answer = server.http.post(f"/api/v1/{route}", json=asked)
                assert answer.status_code in {404, 501}, answer.text
        upload = uploaded(server, "a")
        for place in (str(evil), "../../evil.pack", f"file://{evil}"):
            assert add(server, upload, to=place).json()["error"]["code"] == "INVALID_URI"
        assert {file for file in tmp_path.rglob("*") if "evil" in file.name} == before == set()
