"""The `ov` command of OpenViking 0.5.2 against a real server."""

import json
import os
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.clients.conftest import Served

SECONDS = 120  # an answer takes milliseconds; the machine may be busy
Run = Callable[..., str]


def program() -> Path:
    package = find_spec("openviking")
    if package is None or package.origin is None:
        pytest.skip("make test-clients SUITES=ov", allow_module_level=True)
    return Path(package.origin).parent / "bin/ov"


OV = program()


@pytest.fixture(scope="module")
def home(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("home")
    (here / ".openviking").mkdir()
    conf = {"url": served.url, "api_key": served.key}
    (here / ".openviking/ovcli.conf").write_text(json.dumps(conf))
    (here / "docs/sub").mkdir(parents=True)
    (here / "docs/a.md").write_text("# Alpha\n\nRoll back with kubectl rollout undo.\n")
    (here / "docs/sub/b.md").write_text("# Beta\n\nzebra pineapple\n")
    (here / "csv").mkdir()
    (here / "csv/SKILL.md").write_text("---\nname: csv\ndescription: Make a CSV\n---\n# csv\n")
    return here


@pytest.fixture(scope="module")
def ov(home: Path) -> Run:
    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(  # noqa: S603 - a program installed for this
            [OV, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(home)},
        )
        told = done.stdout + done.stderr
        assert done.returncode == code, told
        return told

    run("language", "en")
    run("add-resource", str(home / "docs"), "--to", "viking://resources/docs", "--wait")
    return run


def test_health_and_status_and_version(ov: Run) -> None:
    assert "Connected (Healthy)" in ov("health")
    assert "Connected (Healthy)" in ov("status")
    assert "contextfind" in ov("version")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["ls", "viking://resources/docs"], "viking://resources/docs/a.md"),
        (["tree", "viking://resources/docs"], "b.md"),
        (["stat", "viking://resources/docs"], "count     2"),
        (["read", "viking://resources/docs/a.md"], "kubectl"),
        (["abstract", "viking://resources/docs"], "docs"),
        (["overview", "viking://resources/docs"], "a.md"),
        (["find", "roll back"], "viking://resources/docs/a.md"),
        (["search", "roll back"], "viking://resources/docs/a.md"),
        (["grep", "zebra", "-u", "viking://resources/docs"], "line 3"),
        (["glob", "**/*.md", "-u", "viking://resources/docs"], "docs/sub/b.md"),
        (["observer", "system"], "[queue] (healthy)"),
        (["reindex", "viking://resources/docs"], "completed"),
        (["wait"], "Semantic"),
        (["task", "list"], "add_resource"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_what_reads(ov: Run, words: list[str], told: str) -> None:
    assert told in ov(*words)


def test_answers_as_json(ov: Run) -> None:
    told = ov("-o", "json", "find", "roll back")
    found = json.loads(told[told.index("{") :])
    assert found["result"]["resources"]


def test_what_writes(ov: Run, home: Path) -> None:
    ov("mkdir", "viking://resources/made")
    ov("mv", "viking://resources/docs/sub/b.md", "viking://resources/made/b.md")
    ov("write", "viking://resources/made/b.md", "--content", "quokka", "--wait")
    ov("get", "viking://resources/made/b.md", str(home / "got.md"))
    assert (home / "got.md").read_text() == "quokka"
    ov("rm", "viking://resources/made", "-r")
    assert "NOT_FOUND" in ov("read", "viking://resources/made/b.md", code=1)


def test_skills_and_sessions(ov: Run, home: Path) -> None:
    ov("add-skill", str(home / "csv"), "--wait")
    assert "name: csv" in ov("skills", "list")
    assert "session_id" in ov("session", "new")
    assert "OK" in ov("add-memory", "I like tea")
    assert "viking://user/alice/sessions" in ov("session", "list")


def test_what_is_not_built_says_so(ov: Run) -> None:
    told = ov("cp", "viking://resources/docs/a.md", "viking://resources/c.md", code=1)
    assert "UNIMPLEMENTED" in told
