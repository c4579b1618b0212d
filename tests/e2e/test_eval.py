"""The evaluation against a running server says what the one in process says."""

import json
from pathlib import Path

import pytest

from tests.crash.program import ForkedServer
from tests.unit.cli.calling import call
from tests.unit.cli.test_calibrate_command import HASH, make_set


@pytest.mark.parametrize("way", [(), ("--search",)])
def test_a_server_and_a_house_of_its_own_give_the_same_figures(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    judged = make_set(tmp_path / "judged")
    with ForkedServer(tmp_path / "data") as server:
        server.start().wait_healthy()
        there = call("eval", str(judged), "--url", server.url, "--json", "-", *way, env=HASH)
        listed = server.call("GET", "/api/v1/fs/ls", params={"uri": "viking://resources/judged"})
    here = call("eval", str(judged), "--json", "-", *way, env=HASH)
    assert (there.exit_code, here.exit_code) == (0, 0), there.stderr
    assert json.loads(there.stdout) == json.loads(here.stdout)
    assert json.loads(here.stdout)[0]["asked"] == 8
    assert len(listed) == 8
