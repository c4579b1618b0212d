"""What docs/client.md shows works as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

from tests.house.reading import ROOT, code_blocks
from tests.processes import ServerProcess

URL = "http://127.0.0.1:1933"


def test_the_page_of_the_client_runs_from_top_to_bottom(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ops.md").write_text(
        "# Roll back\n\nTo roll back a release run undo.\n", encoding="utf-8"
    )
    script = "\n".join(code_blocks(ROOT / "docs/client.md", "python"))
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-W", "error", "-c", script.replace(URL, server.url)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.stderr, done.returncode) == ("", 0)
    lines = done.stdout.splitlines()
    assert "viking://resources/docs/ops.md" in lines[0]
    told_in_a_line = re.compile(r"accepted \['.+'\]")  # one archive; its words are not our matter
    assert any(told_in_a_line.fullmatch(line) for line in lines)
    assert "['csv-report']" in lines
    assert lines[-1].startswith("NOT_FOUND ")
