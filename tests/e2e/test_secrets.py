"""A key is in the answer that makes it, and nowhere else: no log, no other answer, no file."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.backends import all_bytes
from tests.processes import ServerProcess
from tests.schemas import environment_of
from tests.stubs.loopback import Loopback, Reply, refuse

ROOT, METRICS = "root-Zx9-secret-of-the-house-4711", "metrics-Qy7-secret-of-the-watch-0815"
MODEL, RERANK = "sk-model-secret-AAAA-1234567890", "sk-rerank-secret-BBBB-1234567890"
GUESSED = "cf_a-key-that-somebody-guessed-wrongly-000000"
SAID = "We met Ada in Ulm and talked about the tea harvest."


class Repeating(Loopback):
    """A provider that answers every call with an error that repeats the key it was sent."""

    def __init__(self) -> None:
        self.sent: set[str] = set()
        super().__init__()

    def take(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[float, Callable[[], Reply]]:
        del path, content
        sent = headers.get("Authorization", "")
        self.sent.add(sent.removeprefix("Bearer "))
        return 0.0, lambda: refuse(401, f"Incorrect API key provided: {sent}")


@pytest.fixture
def provider() -> Iterator[Repeating]:
    stub = Repeating()
    yield stub
    stub.close()


class Life:
    """A server whose every answer is kept, but for those that make a key."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.told: list[str] = []
        self.keys: list[str] = []

    def ask(self, method: str, path: str, key: str = "", **more: object) -> dict[str, object]:
        """Return the body of an answer that must hold no key."""
        sent = {"Authorization": f"Bearer {key}"} if key else {}
        answer = self.server.http.request(method, path, headers=sent, **more)  # type: ignore[arg-type]
        self.told.append(f"{answer.headers} {answer.text}")
        assert answer.status_code != 500, answer.text
        return answer.json() if answer.headers["content-type"] == "application/json" else {}

    def make(self, path: str, key: str, **body: object) -> str:
        """Return the key that a request makes."""
        answer = self.server.http.post(path, headers={"X-API-Key": key}, json=body)
        assert answer.status_code == 200, answer.text
        made: str = answer.json()["result"]["user_key"]
        self.keys.append(made)
        return made


def test_no_key_is_in_a_log_an_answer_or_a_file(provider: Repeating, tmp_path: Path) -> None:
    model = {"model": "m", "api_base": provider.base_url, "timeout": 5}
    conf = {
        "server": {"root_api_key": ROOT, "metrics_key": METRICS},
        "vlm": {**model, "api_key": MODEL},
        "rerank": {**model, "provider": "cohere", "api_key": RERANK},
        "log": {"level": "debug"},
    }
    config = tmp_path / "ov.conf"
    config.write_text(json.dumps(conf))
    with ServerProcess(tmp_path / "data", "--config", str(config)).start() as server:
        server.wait_healthy()
        life = Life(server)
        live(life)
        assert server.stop() == 0
        output = server.output()
    checked = run("doctor", "--data", str(tmp_path / "data"), "--config", str(config))
    files = all_bytes(tmp_path / "data")
    assert provider.sent == {MODEL, RERANK}
    assert len(life.keys) == 4
    assert len(files) > 3
    assert "search/search" in output
    for secret in (ROOT, METRICS, MODEL, RERANK, GUESSED, *life.keys):
        assert secret not in output
        assert secret not in checked
        assert [told for told in life.told if secret in told] == []
        assert [path for path, data in files.items() if secret.encode() in data] == []


def live(life: Life) -> None:
    """Do what there is to do with keys, and what goes wrong with them."""
    ann = life.make("/api/v1/admin/accounts", ROOT, account_id="acme", admin_user_id="ann")
    ben = life.make("/api/v1/admin/accounts/acme/users", ann, user_id="ben")
    more = life.make("/api/v1/admin/keys", ann, account_id="acme", user_id="ben", label="laptop")
    listed = life.ask("GET", "/api/v1/admin/keys", ann)["result"]
    assert isinstance(listed, list)
    ids = {one["label"]: one["key_id"] for one in listed}
    life.make(f"/api/v1/admin/keys/{ids['laptop']}/rotate", ann)
    written = {"uri": "viking://resources/tea.md", "content": SAID, "wait": True, "timeout": 60}
    life.ask("POST", "/api/v1/content/write", ben, json=written)
    asked = {"query": "tea in Ulm", "telemetry": True, "include_provenance": True}
    session = {"session_id": "s1"}
    life.ask("POST", "/api/v1/search/find", ben, json=asked)
    life.ask("POST", "/api/v1/sessions/s1/messages", ben, json={"role": "user", "content": SAID})
    life.ask("POST", "/api/v1/search/search", ben, json=asked | session)
    life.ask("POST", "/api/v1/sessions/s1/commit", ben, json={})
    life.ask("POST", "/api/v1/system/wait", ben, json={"timeout": 30})
    life.ask("GET", "/api/v1/tasks", ben)
    for key in (GUESSED, more, ann + "x"):  # unknown, rotated, mistyped
        life.ask("GET", "/api/v1/system/status", key)
    for key in (ann, ben):  # where no key belongs
        life.ask("DELETE", f"/api/v1/admin/keys/{key}", ann)
        life.ask("GET", f"/api/v1/nowhere?api_key={key}", ben)
        life.ask("GET", f"/api/v1/admin/nowhere/{key}", ben)
    for path in ("/health", "/ready", "/docs", "/openapi.json", "/api/v1/system/status"):
        life.ask("GET", path, ben)
    life.ask("GET", "/metrics", METRICS)
    life.ask("GET", "/api/v1/system/status", ROOT)


def run(*arguments: str) -> str:
    """Return what a command prints, whether it succeeds or not."""
    command = [sys.executable, "-m", "contextfind.cli", *arguments]
    environment = {**os.environ, **environment_of(arguments)}
    done = subprocess.run(command, capture_output=True, check=False, timeout=120, env=environment)  # noqa: S603 - our own program
    return (done.stdout + done.stderr).decode()
