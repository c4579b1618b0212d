"""`contextfind mcp` before it comes to the tools."""

from pathlib import Path

import pytest

from contextfind.cli import tooling
from contextfind.cli.tools import tool_opener
from contextfind.server.rules import ServerRules
from contextfind.wiring import Surroundings
from tests.unit.cli.calling import call


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tooling, "tools_installed", lambda: False)
    result = call("mcp")
    assert result.exit_code == 1
    assert "pip install 'contextfind[mcp]'" in result.stderr


def test_a_server_without_the_extra_has_nothing_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextfind.cli.tools.find_spec", lambda _: None)
    assert tool_opener(ServerRules(), Surroundings.real().clock) is None


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--url", "ftp://here"), 2, "must start with http:// or https://"),
        (("--data", "DATA", "--config", "DATA/none.conf"), 2, "none.conf"),
    ],
)
def test_what_cannot_work_ends_at_once(
    tmp_path: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    result = call("mcp", *(word.replace("DATA", str(tmp_path)) for word in words))
    assert result.exit_code == code, result.output
    assert told in result.stderr
    assert result.stdout == ""
