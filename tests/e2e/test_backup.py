"""A backup beside clients that write and delete; killed backups and restores leave nothing that is half believed."""

import contextlib
import json
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from contextfind.ports.fault_points import FaultPoint
from tests.crash.program import Before, ForkedServer, Handle, Program, dying_at, nothing
from tests.processes import ServerProcess
from tests.schemas import directory_only

pytestmark = directory_only  # a backup copies files

PATIENCE = 120.0  # seconds for a command; about one on an idle machine
IDLE = {"CONTEXTFIND_STORAGE__IDLE_SECONDS": "0.1"}  # so that blobs are swept all the time
CLIENTS = 3
KEPT = 9  # files of each client


def end_of(*words: str, before: Before = nothing) -> tuple[int, str]:
    """Return the exit code of a command, and what it printed."""
    with tempfile.TemporaryFile() as output:
        code = Program(words, Handle(output.fileno()), before=before).wait(PATIENCE)
        output.seek(0)
        return code, output.read().decode()


def run(*words: str) -> str:
    code, told = end_of(*words)
    assert code == 0, told
    return told


class Client:
    """Writes, replaces, moves and deletes its own files; remembers what each may be read as.

    acknowledged: the text of each address, None where it was deleted, as last answered. later: what it was told
    after `mark`, in flight at that moment included.
    """

    def __init__(self, server: ServerProcess, number: int) -> None:
        self._server = server
        self._number = number
        self._lock = threading.Lock()
        self._version = 0
        self._marked = False
        self.acknowledged: dict[str, str | None] = {}
        self.later: dict[str, list[str | None]] = {}

    def work(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self._version += 1
            place = self._version % KEPT
            self._write(self._uri(place), self._text())
            if place % 3 == 0:
                self._delete(self._uri(KEPT + place))
                self._move(self._uri(place), self._uri(KEPT + place))
            elif place % 5 == 0:
                self._delete(self._uri(place))

    def mark(self) -> dict[str, str | None]:
        """Return what is acknowledged now; everything that is not goes to `later`."""
        with self._lock:
            self._marked = True
            return dict(self.acknowledged)

    def _uri(self, place: int) -> str:
        return f"viking://resources/c{self._number}/n{place}.md"

    def _text(self) -> str:
        mark = f"marker{self._number}x{self._version}q"
        return f"# {mark}\n\n" + f"What client {self._number} says in {mark}. " * 20

    def _write(self, uri: str, text: str) -> None:
        request = {"uri": uri, "content": text, "mode": "replace"}
        with self._told({uri: text}):
            self._server.call("POST", "/api/v1/content/write", json=request)

    def _delete(self, uri: str) -> None:
        with self._told({uri: None}):
            self._server.call("DELETE", "/api/v1/fs", params={"uri": uri})

    def _move(self, uri: str, to: str) -> None:
        request = {"from_uri": uri, "to_uri": to}
        with self._told({uri: None, to: self.acknowledged[uri]}):
            self._server.call("POST", "/api/v1/fs/mv", json=request)

    @contextlib.contextmanager
    def _told(self, texts: Mapping[str, str | None]) -> Iterator[None]:
        yield
        with self._lock:
            self.acknowledged |= texts
            for uri, text in texts.items() if self._marked else ():
                self.later.setdefault(uri, []).append(text)


@contextlib.contextmanager
def working(clients: Sequence[Client]) -> Iterator[None]:
    stop = threading.Event()
    threads = [threading.Thread(target=client.work, args=(stop,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def read(server: ServerProcess, uri: str) -> str | None:
    answer = server.http.get("/api/v1/content/read", params={"uri": uri})
    assert answer.status_code in {200, 404}, answer.text
    return None if answer.status_code == 404 else str(answer.json()["result"])


def until_busy(clients: Sequence[Client], times: int) -> None:
    """Return when each client was answered some times more."""
    goals = [client._version + times for client in clients]
    for client, goal in zip(clients, goals, strict=True):
        while client._version < goal:
            threading.Event().wait(0.01)


def check_restored(
    server: ServerProcess, clients: Sequence[Client], marks: Sequence[dict[str, str | None]]
) -> None:
    for client, before in zip(clients, marks, strict=True):
        for uri in {*before, *client.later}:
            text = read(server, uri)
            assert text in [before.get(uri), *client.later.get(uri, [])], uri
            if text is None:
                continue
            marker = text.split()[1]
            found = [hit["uri"] for hit in server.find(marker, limit=5, level=2)]
            assert uri in found, f"{uri} is not found by {marker}"


def test_a_backup_beside_writing_clients_holds_all_that_was_acknowledged_before(
    tmp_path: Path,
) -> None:
    saved, new = tmp_path / "saved", tmp_path / "new"
    with ForkedServer(tmp_path / "data") as server:
        server.start(IDLE).wait_healthy()
        upload = server.call(
            "POST",
            "/api/v1/resources/temp_upload",
            files={"file": ("waiting.md", b"# Waiting\n\nThe quokka waits.", "text/markdown")},
        )["temp_file_id"]
        said = {"role": "user", "content": "remember the harbour crane"}
        server.call("POST", "/api/v1/sessions/talk/messages", json=said)
        clients = [Client(server, number) for number in range(CLIENTS)]
        with working(clients):
            until_busy(clients, 2 * KEPT)
            run("backup", str(saved), "--data", str(server.data))
            until_busy(clients, KEPT)
            marks = [client.mark() for client in clients]
            lines = run("backup", str(saved), "--data", str(server.data), "--json")
            told = json.loads(lines[lines.index("{") :])
            until_busy(clients, KEPT)
        assert told["damaged"] == []
        assert told["shares"]["blobs"]["files"] > 0
    run("restore", str(saved), "--data", str(new))
    with ForkedServer(new) as server:
        server.start().wait_healthy()
        server.call("POST", "/api/v1/system/wait", json={"timeout": PATIENCE})
        check_restored(server, clients, marks)
        context = server.call("GET", "/api/v1/sessions/talk/context")
        assert "remember the harbour crane" in json.dumps(context)
        request = {"temp_file_id": upload, "to": "viking://resources/waiting.md", "wait": True}
        server.call("POST", "/api/v1/resources", json=request)
        assert read(server, "viking://resources/waiting.md") == "# Waiting\n\nThe quokka waits."
        assert "built anew" not in server.output()


def killed_at(point: FaultPoint, *words: str) -> None:
    """Run a command that is killed with -9 when it reaches the point."""
    code, told = end_of(*words, before=dying_at(point))
    assert code == -signal.SIGKILL, told


def files(directory: Path) -> set[str]:
    return {file.relative_to(directory).as_posix() for file in directory.rglob("*")}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("killed")
    with ForkedServer(directory / "data") as server:
        server.start().wait_healthy()
        for number in range(3):
            uri = f"viking://resources/n{number}.md"
            request = {"uri": uri, "content": f"# {number}\n\nmarker{number}q", "mode": "create"}
            server.call("POST", "/api/v1/content/write", json=request)
        server.kill()  # so that the last writes are in the log of the database only
    return directory / "data"


def test_a_backup_that_is_killed_is_none_and_leaves_the_one_before(
    data: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    killed_at(FaultPoint.MID_BACKUP, "backup", str(saved), "--data", str(data))
    code, told = end_of("restore", str(saved), "--verify")
    assert code == 1
    assert "a backup was begun there and not finished" in told
    run("backup", str(saved), "--data", str(data))
    whole, manifest = files(saved), (saved / "manifest.json").read_bytes()
    killed_at(FaultPoint.MID_BACKUP, "backup", str(saved), "--data", str(data))
    assert (saved / "manifest.json").read_bytes() == manifest
    run("restore", str(saved), "--verify")
    run("backup", str(saved), "--data", str(data))
    assert len(files(saved)) == len(whole)


def test_a_restore_that_is_killed_is_opened_by_nobody_and_ended_by_the_next(
    data: Path, tmp_path: Path
) -> None:
    saved, new = tmp_path / "saved", tmp_path / "new"
    run("backup", str(saved), "--data", str(data))
    killed_at(FaultPoint.MID_RESTORE, "restore", str(saved), "--data", str(new))
    with ForkedServer(new) as server:
        server.start()
        assert server.process is not None
        assert server.process.wait(PATIENCE) == 3
        assert f"a restore into the data directory '{new}' did not end" in server.output()
    run("restore", str(saved), "--data", str(new))
    with ForkedServer(new) as server:
        server.start().wait_healthy()
        assert read(server, "viking://resources/n2.md") == "# 2\n\nmarker2q"
