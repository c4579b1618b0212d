"""One real process under many clients: no failure, no growth, and no second process beside it.

The number in a name is that of the case in docs/compatibility.md.
"""
# ruff: noqa: N802 - the numbers are written as there

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.api.living import packed
from tests.processes import ServerProcess
from tests.schemas import directory_only
from tests.unit.cli.calling import call

FIND = "/api/v1/search/find"
CLIENTS = 10
FILES = 200
SECONDS = 60.0  # for what takes one or two


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with two hundred files, whose configuration asks for two workers: it has one all the same."""
    place: Path = tmp_path_factory.mktemp("load")
    (place / "ov.conf").write_text(json.dumps({"server": {"workers": 2}}))
    with ServerProcess(place / "data", "--config", str(place / "ov.conf")).start() as process:
        process.wait_healthy()
        files = {f"{n % 10}/{n}.md": f"# Note {n}\n\nAbout topic{n % 7}.\n" for n in range(FILES)}
        sent = {"file": ("notes.zip", packed(files), "application/zip")}
        upload = process.call("POST", "/api/v1/resources/temp_upload", files=sent)
        to = "viking://resources/notes"
        body = {"temp_file_id": upload["temp_file_id"], "to": to, "wait": True}
        process.call("POST", "/api/v1/resources", json=body)
        process.call("POST", "/api/v1/system/wait", json={"timeout": SECONDS})
        yield process


def finds(server: ServerProcess, client: int, count: int) -> list[httpx.Response]:
    """Return the answers to so many finds, one after the other on one connection."""
    asked = [{"query": f"about topic{n % 7} note {client * count + n}"} for n in range(count)]
    with httpx.Client(base_url=server.url, timeout=SECONDS) as http:
        return [http.post(FIND, json=body) for body in asked]


def at_once(server: ServerProcess, count: int) -> list[httpx.Response]:
    """Return the answers to so many finds of each of ten clients."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        jobs = [pool.submit(finds, server, client, count) for client in range(CLIENTS)]
        return [answer for job in jobs for answer in job.result()]


def resident_kib(server: ServerProcess) -> int:
    assert server.process is not None
    told = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    (kib,) = re.findall(r"^VmRSS:\s+(\d+) kB$", told, re.MULTILINE)
    return int(kib)


def test_R093_ten_clients_at_once_are_all_answered(server: ServerProcess) -> None:
    answers = at_once(server, 30)
    assert len(answers) == 300
    assert {answer.status_code for answer in answers} == {200}
    assert all(answer.json()["result"]["total"] for answer in answers)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the /proc of Linux")
@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_R108_a_third_round_of_finds_needs_no_more_memory_than_the_second(
    server: ServerProcess, count: int
) -> None:
    after = []
    for _ in range(3):
        answers = at_once(server, count // CLIENTS)
        assert {answer.status_code for answer in answers} == {200}
        after.append(resident_kib(server))
    assert after[2] <= 1.1 * after[1], after


def test_R085_two_workers_are_one_process_that_sees_what_was_written(server: ServerProcess) -> None:
    assert "server.workers" in server.output()  # named as a key without a meaning
    body = {"uri": "viking://resources/new.md", "content": "The quokka sleeps.", "wait": True}
    server.call("POST", "/api/v1/content/write", json=body)
    for _ in range(20):
        with httpx.Client(base_url=server.url, timeout=SECONDS) as http:
            found = http.post(FIND, json={"query": "quokka", "level": 2}).json()["result"]
        assert found["resources"][0]["uri"] == body["uri"]


@directory_only  # it has a lock
def test_R085_a_second_server_on_one_directory_is_refused_with_the_reason(
    server: ServerProcess,
) -> None:
    with ServerProcess(server.data).start() as second:
        assert server.process is not None
        assert second.process is not None
        assert second.process.wait(SECONDS) != 0
        told = " ".join(second.output().split())
    assert f"in use by the process {server.process.pid}" in told
    assert "Traceback" not in told
    assert server.http.get("/health").json()["healthy"] is True


@directory_only
def test_R085_more_workers_cannot_be_asked_for(tmp_path: Path) -> None:
    data = tmp_path / "data"
    result = call("serve", "--data", str(data), "--workers", "2")
    assert result.exit_code == 2
    assert "several workers need storage.backend 'postgres'" in " ".join(result.stderr.split())
    assert not data.exists()
