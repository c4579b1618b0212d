"""The program as people start it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfind.config.load import load_settings
from contextfind.wiring import House
from tests.processes import ServerProcess, free_port
from tests.schemas import ON_POSTGRES, directory_only, environment_of, schema_of
from tests.unit.cli.calling import call

FILES = {
    "guide/rollback.md": "# Roll back\n\nTo roll back a release run `deploy undo`.\n",
    "guide/deploy.md": "# Deploy\n\nA release is deployed with `deploy up`.\n",
    "发布/回滚步骤.md": "# 回滚步骤\n\n回滚发布时先停止流量。\n",
    ".git/config": "[core]\n",
}


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `contextfind` to its end."""
    clean = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "contextfind.cli", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**clean, **environment_of(words), **environment},
    )


def only_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return what was said, which must be one line."""
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("source") / "docs"
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, docs: Path) -> Iterator[ServerProcess]:
    data = tmp_path_factory.mktemp("server") / "data"
    with ServerProcess(data, str(docs)) as process:
        process.start().wait_healthy()
        yield process


class TestServeRefuses:
    def test_a_mistyped_section(self, tmp_path: Path) -> None:
        config = tmp_path / "ov.conf"
        config.write_text('{"embeding": {"provider": "hash"}}', encoding="utf-8")
        done = run("serve", "--config", str(config), "--data", str(tmp_path / "data"))
        assert done.returncode == 2
        assert "'embeding'" in only_line(done)
        assert "did you mean 'embedding'" in done.stderr
        assert not (tmp_path / "data").exists()

    def test_a_port_in_use_and_leaves_the_data_alone(
        self, server: ServerProcess, tmp_path: Path
    ) -> None:
        words = ["--port", str(server.port), "--data", str(tmp_path / "data")]
        done = run("serve", "--embedder", "hash", *words)
        assert done.returncode == 3
        assert f"port {server.port}" in only_line(done)
        assert not (tmp_path / "data").exists()

    @directory_only  # it has a lock
    def test_data_that_another_server_has_open(self, server: ServerProcess) -> None:
        words = ["--port", str(free_port()), "--data", str(server.data)]
        done = run("serve", "--embedder", "hash", *words)
        assert done.returncode == 3
        assert "in use" in only_line(done)

    async def test_data_of_another_embedder(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        overrides = {"storage.path": str(data), "embedding.provider": "hash"}
        former = load_settings(None, {}, {**overrides, "embedding.dimension": 32})
        async with House.open(former.settings):
            pass
        words = ["--port", "0", "--data", str(data), "--embedder", "hash"]
        done = await asyncio.to_thread(run, "serve", *words)
        assert done.returncode == 3
        assert "--reembed" in only_line(done)


class TestServe:
    def test_greets_with_address_mode_and_next_step(self, server: ServerProcess) -> None:
        told = server.output()
        assert f"answers at {server.url}" in told
        assert (schema_of(server.data) if ON_POSTGRES else str(server.data)) in told
        assert "dev (no key needed" in told
        assert f"--url {server.url}" in told

    def test_indexes_its_paths_behind_the_open_door(self, server: ServerProcess) -> None:
        end = time.monotonic() + 60
        while "viking://resources/docs: " not in server.output():
            assert time.monotonic() < end, server.output()
            time.sleep(0.02)  # noqa: TID251 - a test waits for another process
        assert "viking://resources/docs: 3 added" in server.output()
        assert "docs: indexed" in server.output()
        hits = server.find("roll back a release: undo", level=[2])
        assert hits[0]["uri"] == "viking://resources/docs/guide/rollback.md"

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_stops_cleanly_within_seconds(self, tmp_path: Path, number: signal.Signals) -> None:
        with ServerProcess(tmp_path / "data") as process:
            process.start().wait_healthy()
            assert process.process is not None
            started = time.monotonic()
            process.process.send_signal(number)
            assert process.process.wait(60) == 0
            assert time.monotonic() - started < 20  # less than one on an idle machine
            assert process.output().splitlines()[-1] == "stopped"
            assert "Traceback" not in process.output()


class TestClientCommands:
    def test_find_what_was_added(self, server: ServerProcess, docs: Path) -> None:
        where = ["--url", server.url]
        added = call("add", str(docs), "--to", "viking://resources/copy", *where)
        assert added.exit_code == 0, added.stderr
        assert "viking://resources/copy" in added.stdout
        found = call("find", "回滚步骤", "--target", "viking://resources/copy", "--json", *where)
        hits = json.loads(found.stdout)["resources"]
        best = max(hits, key=lambda hit: (hit["score"], hit["level"]))
        assert best["uri"].startswith("viking://resources/copy/发布")

    def test_write_read_list_and_remove(self, server: ServerProcess) -> None:
        uri = "viking://resources/notes/a note.md"
        text = "# Note\n\nremember\n"
        where = ["--url", server.url]
        assert call("mkdir", "viking://resources/notes", *where).exit_code == 0
        assert call("write", uri, *where, input=text).exit_code == 0
        assert call("read", uri, *where).stdout == text
        assert "a note.md" in call("tree", "viking://resources", *where).stdout
        assert "a note.md" in call("ls", "viking://resources/notes", *where).stdout
        refused = call("rm", "viking://resources/notes", *where)
        assert refused.exit_code == 1
        assert "recursive" in refused.stderr
        assert call("rm", "-r", "viking://resources/notes", *where).exit_code == 0
        gone = call("read", uri, *where)
        assert gone.exit_code == 1
        assert "contextfind tree" in gone.stderr

    def test_status_tells_what_is_there(self, server: ServerProcess) -> None:
        told = call("status", "--json", "--url", server.url)
        assert told.exit_code == 0, told.stderr
        assert json.loads(told.stdout)["health"]["auth_mode"] == "dev"

    def test_say_how_to_start_a_server_that_is_down(self) -> None:
        done = run("find", "x", "--url", f"http://127.0.0.1:{free_port()}")
        assert done.returncode == 4
        assert "contextfind serve" in only_line(done)


def test_keys_open_the_door_and_wrong_ones_do_not(tmp_path: Path) -> None:
    keys = {"CONTEXTFIND_API_KEY": "user-key", "CONTEXTFIND_ROOT_API_KEY": "root-key"}
    with ServerProcess(tmp_path / "data") as process:
        process.start(keys).wait_healthy()
        where = ["--url", process.url]
        refused = call("find", "x", "--key", "wrong", *where)
        assert refused.exit_code == 5
        assert "--key" in refused.stderr
        assert call("find", "x", "--key", "user-key", *where).exit_code == 0
        made = call("accounts", "create", "acme", "--key", "root-key", *where)
        assert made.exit_code == 0, made.stderr
        assert call("ls", *where, env={"CONTEXTFIND_API_KEY": made.stdout.strip()}).exit_code == 0
        assert call("accounts", "list", "--key", "user-key", *where).exit_code == 5
        listed = call("keys", "list", "--key", "root-key", *where).stdout
        assert "acme" in listed
        assert made.stdout.strip() not in listed
        assert "api_key" in process.output()
        assert "user-key" not in process.output()


def test_doctor_finds_nothing_wrong_with_a_fresh_place(tmp_path: Path) -> None:
    settings = {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash", "CONTEXTFIND_PORT": str(free_port())}
    done = run("doctor", "--data", str(tmp_path / "data"), "--json", **settings)
    verdicts = {one["what"]: one["verdict"] for one in json.loads(done.stdout)}
    assert done.returncode == 0
    place = {"database"} if ON_POSTGRES else {"data", "disk"}
    assert set(verdicts) >= {"config", "port", "models", *place}
    assert verdicts["models"] == "ok"
    assert "fail" not in verdicts.values()
    assert not (tmp_path / "data").exists()
