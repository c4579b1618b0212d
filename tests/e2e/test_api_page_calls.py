"""The calls of docs/api.md, typed into a shell as they stand, makers first."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.api_page import _MAKERS, PAGE
from tests.processes import ServerProcess

SECTION = re.compile(r"^### (\S+) (\S+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"^curl (?:.*\\\n)*.*", re.MULTILINE)
UPLOAD = 'curl -s "$CONTEXTFIND_URL/api/v1/resources/temp_upload" -F file=@guide.md'
NEW_KEY = (
    'curl -s "$CONTEXTFIND_URL/api/v1/admin/keys" -H "Content-Type: application/json" '
    """-d '{"account_id": "acme", "user_id": "ann"}'"""
)


class Shell:
    """Types calls; ids of answers are put where the page has words for them."""

    def __init__(self, room: Path, url: str) -> None:
        self._room = room
        self._env = {**os.environ, "CONTEXTFIND_URL": url, "CONTEXTFIND_API_KEY": ""}

    def type(self, line: str) -> str:
        bash = shutil.which("bash") or "bash"
        done = subprocess.run(  # noqa: S603 - our own page
            [bash, "-c", line], cwd=self._room, env=self._env, capture_output=True, check=True
        )
        return done.stdout.decode()

    def call(self, path: str, line: str) -> str:
        """Return the status of an answer."""
        if "the id from temp_upload" in line:
            upload = json.loads(self.type(UPLOAD))["result"]["temp_file_id"]
            line = line.replace("the id from temp_upload", upload)
        if "$KEY_ID" in line:
            self._env["KEY_ID"] = json.loads(self.type(NEW_KEY))["result"]["key_id"]
        body, _, status = self.type(f"{line} -w '\\n%{{http_code}}'").rpartition("\n")
        if path == "/api/v1/resources":
            self._env["TASK_ID"] = json.loads(body)["result"]["task_id"]
        return status


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_call_of_the_page_works_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Guide\n\nAsk the on-call.\n", "utf-8")
    first = {route: number for number, route in enumerate(_MAKERS)}
    sections = sorted(
        SECTION.findall(PAGE.read_text("utf-8")),
        key=lambda one: (first.get((one[0].lower(), one[1]), len(first)), one[0] == "DELETE"),
    )
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        shell = Shell(tmp_path, server.url)
        answered = [
            (path, line, shell.call(path, line))
            for _, path, text in sections
            for line in CALL.findall(text)
        ]
    assert len(answered) > 70
    assert [one for one in answered if one[2] != "200"] == []
