"""A deployment moved by a file: the new server answers as the old one did; kill -9 costs nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contextfind.domain.records import Level
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import draft_file
from contextfind.ingestion.passages import PassageRules
from contextfind.transfer import writer
from contextfind.transfer.entries import Entry, Header, copy_of
from contextfind.transfer.writer import ExportWriter
from tests.backends import files_stored
from tests.builders import NOON
from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.schemas import directory_only, environment_of

BLOCK = 150  # records: small, so that a kill can come between many
FILES = 8 * BLOCK
PATIENCE = 60.0  # seconds
QUESTIONS = ("marker3q closes it", "topic5", "what is written about note7x")


def program(*words: str) -> list[str]:
    return [sys.executable, "-m", "contextfind.cli", *words]


def run(*words: str) -> str:
    environment = {**os.environ, **environment_of(words)}
    done = subprocess.run(  # noqa: S603 - our own program
        program(*words),
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def body(number: int) -> str:
    paragraph = f"Paragraph about topic{number % 7} of note{number}x. " * 8
    return f"# Note {number}\n\n{paragraph}\n\n## End\n\nmarker{number}q closes it.\n"


def answers(server: ServerProcess) -> list[list[tuple[str, float, str]]]:
    return [
        [(hit["uri"], hit["score"], hit["abstract"]) for hit in server.find(question, limit=8)]
        for question in QUESTIONS
    ]


def record_lines(file: Path) -> list[bytes]:
    return [line for line in file.read_bytes().splitlines() if line.startswith(b'{"record"')]


def test_a_server_on_the_imported_data_gives_the_same_answers(tmp_path: Path) -> None:
    with ForkedServer(tmp_path / "old") as server:
        server.start().wait_healthy()
        for number in range(12):
            uri = f"viking://resources/notes/d{number % 3}/n{number}.md"
            request = {"uri": uri, "content": body(number), "mode": "create", "wait": True}
            server.call("POST", "/api/v1/content/write", json=request)
        server.call("POST", "/api/v1/system/wait", json={"timeout": PATIENCE})
        before = answers(server)
        server.stop()
    file = tmp_path / "data.jsonl.zst"
    run("export", str(file), "--data", str(tmp_path / "old"))
    run("import", str(file), "--data", str(tmp_path / "new"), "--embedder", "hash")
    with ForkedServer(tmp_path / "new") as server:
        server.start().wait_healthy()
        server.call("POST", "/api/v1/system/wait", json={"timeout": PATIENCE})
        assert answers(server) == before
        address = {"uri": "viking://resources/notes/d0/n3.md"}
        assert server.call("GET", "/api/v1/content/read", params=address) == body(3)


@directory_only  # it has a lock; a database serves both
def test_the_data_of_a_running_server_are_left_alone(tmp_path: Path) -> None:
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        done = subprocess.run(  # noqa: S603 - our own program
            program("export", str(tmp_path / "x.jsonl.zst"), "--data", str(server.data)),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 3
    assert "is in use by the process" in done.stderr
    assert not (tmp_path / "x.jsonl.zst").exists()


def long_file(path: Path) -> int:
    """Write a file of many blocks; return how many records it has."""
    rules = PassageRules()
    with path.open("wb") as stream:
        header = Header(NOON, counts={"records": FILES})
        with ExportWriter(stream, header, compressed=False) as out:
            for number in range(FILES):
                uri = Uri.parse(f"viking://resources/notes/d{number // 100:03d}/n{number:05d}.md")
                drafted = draft_file(uri, body(number).encode(), None, rules)
                assert drafted.drafts[0].level is Level.DETAIL
                out.entry(Entry(copy_of("acme", drafted.drafts[0], NOON), drafted.blobs[0]))
    return out.totals.records


@pytest.mark.slow  # test_fault_points has one that dies inside a block
@pytest.mark.parametrize("blocks", [1, 4])
def test_an_import_killed_in_the_middle_is_carried_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    monkeypatch.setattr(writer, "BLOCK_RECORDS", BLOCK)
    file, new = tmp_path / "long.jsonl", tmp_path / "new"
    total = long_file(file)
    words = ("import", str(file), "--data", str(new), "--embedder", "hash")
    environment = {**os.environ, **environment_of(words)}
    with subprocess.Popen(program(*words), stderr=subprocess.PIPE, env=environment) as importing:  # noqa: S603 - our own program
        end = time.monotonic() + PATIENCE
        while files_stored(new) < blocks * BLOCK and time.monotonic() < end:
            time.sleep(0.005)  # noqa: TID251 - a test waits for another process
        importing.send_signal(signal.SIGKILL)
    there = files_stored(new)
    assert there >= blocks * BLOCK
    assert there % BLOCK == 0
    told = json.loads(run(*words, "--json"))
    assert told["records"] == total
    assert told["written"] >= total - there
    assert json.loads(run(*words, "--json"))["written"] == 0
    again = tmp_path / "again.jsonl"
    run("export", str(again), "--data", str(new))
    files = [line for line in record_lines(again) if b'"level":2' in line]
    assert files == record_lines(file)
