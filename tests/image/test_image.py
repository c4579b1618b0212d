"""The image as it is run: no root, nothing writable but its volume, and what is in that stays."""

import io
import time

import pytest

from tests.image.containers import KEY, Container, Engine

LARGEST = (
    450_000_000  # bytes; 382 MB on Debian's base when this was written, a quarter of it the model
)
TEXT = "# Tea\n\nA cup of green tea wants water of seventy degrees.\n"
QUESTION = "how hot should the water be?"


def find(container: Container, query: str) -> list[str]:
    """Return the addresses that a find answers with."""
    with container.client() as http:
        answer = http.post("/api/v1/search/find", json={"query": query, "limit": 3})
    assert answer.status_code == 200, answer.text
    return [hit["uri"] for hit in answer.json()["result"]["resources"]]


def write(container: Container, uri: str, text: str) -> None:
    with container.client() as http:
        body = {"uri": uri, "content": text, "mode": "create", "wait": True}
        answer = http.post("/api/v1/content/write", json=body)
    assert answer.status_code == 200, answer.text


class TestTheImage:
    def test_is_small(self, engine: Engine) -> None:
        size = int(engine.described()["Size"])
        print(f"\n{engine.image}: {size / 1e6:.0f} MB")  # noqa: T201 - the figure for the docs
        assert size < LARGEST

    def test_names_a_user_a_volume_and_a_health_check(self, engine: Engine) -> None:
        config = engine.described()["Config"]
        assert config["User"] == "10001:10001"
        assert config["WorkingDir"] == "/data"
        assert list(config["Volumes"]) == ["/data"]
        assert "/health" in " ".join(engine.health_check())

    def test_refuses_to_start_without_a_key(self, engine: Engine) -> None:
        told = engine.say("run", "--rm", "--read-only", engine.image)
        assert told.returncode == 2
        assert "CONTEXTFIND_API_KEY" in told.stderr

    @pytest.mark.parametrize("tool", ["g++", "cc", "pip"])
    def test_leaves_the_tools_of_its_building_behind(self, container: Container, tool: str) -> None:
        script = f"import shutil, sys; sys.exit(shutil.which('{tool}') is not None)"
        assert container.run("python", "-c", script).returncode == 0


class TestAContainer:
    def test_runs_as_nobody_with_no_capability(self, container: Container) -> None:
        script = "import os; print(os.getuid(), open('/proc/1/status').read())"
        told = container.run("python", "-c", script).stdout
        assert told.startswith("10001 ")
        lines = dict(line.split(":\t", 1) for line in told.splitlines()[1:] if ":\t" in line)
        assert int(lines["CapEff"], 16) == int(lines["CapBnd"], 16) == 0
        assert lines["NoNewPrivs"] == "1"

    def test_can_write_to_its_volume_and_tmp_only(self, container: Container) -> None:
        script = (
            "import os, pathlib, sys\n"
            "for place in sys.argv[1:]:\n"
            "    try: pathlib.Path(place, 'x').write_text(''); os.unlink(f'{place}/x'); print(place)\n"
            "    except OSError: pass\n"
        )
        places = ("/data", "/tmp", "/", "/opt/contextfind", "/etc", "/usr/lib")  # noqa: S108
        told = container.run("python", "-c", script, *places)
        assert told.stdout.split() == ["/data", "/tmp"]  # noqa: S108

    def test_holds_large_uploads_on_the_volume_not_in_memory(self, container: Container) -> None:
        script = "import tempfile; print(tempfile.gettempdir())"
        assert container.run("python", "-c", script).stdout.split() == ["/data"]

    def test_is_healthy_by_its_own_check(self, engine: Engine, container: Container) -> None:
        check = engine.health_check()
        assert container.run(*check).returncode == 0
        elsewhere = [part.replace(":1933", ":1934") for part in check]
        assert container.run(*elsewhere).returncode != 0

    def test_lets_nobody_in_without_the_key(self, container: Container) -> None:
        with container.client() as http:
            assert http.get("/health", headers={"Authorization": ""}).status_code == 200
            asked = http.get("/api/v1/fs/ls", headers={"Authorization": "Bearer no"})
        assert asked.status_code == 401

    def test_finds_by_meaning_what_was_written(self, container: Container) -> None:
        write(container, "viking://resources/tea.md", TEXT)
        assert find(container, QUESTION)[0] == "viking://resources/tea.md"

    def test_reads_word_files_and_has_the_tools_of_agents(self, container: Container) -> None:
        assert container.run("python", "-c", "import pypdf, docx").returncode == 0
        hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        with container.client() as http:
            accepted = {"Accept": "application/json, text/event-stream"}
            answer = http.post("/mcp", json=hello, headers=accepted)
        assert answer.status_code == 200, answer.text
        assert "find" in {tool["name"] for tool in answer.json()["result"]["tools"]}

    def test_takes_an_upload(self, container: Container) -> None:
        parcel = io.BytesIO(b"# Coffee\n\nNinety-four degrees.\n" + b"beans\n" * 500_000)
        with container.client() as http:
            sent = http.post("/api/v1/resources/temp_upload", files={"file": ("coffee.md", parcel)})
        assert sent.status_code == 200, sent.text

    def test_is_administered_from_inside_without_options(self, container: Container) -> None:
        told = container.run("contextfind", "status", "--json")
        assert told.returncode == 0, told.stdout + told.stderr
        saved = container.run("contextfind", "backup", "/tmp/saved")  # noqa: S108 - the container's own
        assert saved.returncode == 0, saved.stdout + saved.stderr


def test_a_new_container_has_the_data_of_the_one_before(engine: Engine) -> None:
    with engine.volume() as volume:
        with engine.running(volume) as first:
            waited = first.wait()
            write(first, "viking://resources/tea.md", TEXT)
            assert find(first, QUESTION)[0] == "viking://resources/tea.md"
            began = time.monotonic()
            assert first.stop() == 0, first.log()
            stopped = time.monotonic() - began
        with engine.running(volume) as second:
            again = second.wait()
            assert find(second, QUESTION)[0] == "viking://resources/tea.md"
        print(  # noqa: T201 - figures for the docs
            f"\nready after {waited:.1f} s, stopped after {stopped:.1f} s, ready again after {again:.1f} s"
        )


def test_a_second_container_on_the_same_volume_is_refused(engine: Engine) -> None:
    with engine.volume() as volume, engine.running(volume) as first:
        first.wait()
        options = (f"--env=CONTEXTFIND_API_KEY={KEY}", f"--volume={volume}:/data")
        told = engine.say("run", "--rm", *options, engine.image)
    assert told.returncode == 3
    assert "in use" in told.stderr
