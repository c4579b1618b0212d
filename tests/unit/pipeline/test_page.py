"""The page about the pipeline runs as it stands, in an empty directory."""

import os
import subprocess
import sys
from pathlib import Path

from tests.house.reading import ROOT, code_blocks

PAGE = ROOT / "docs/pipeline.md"


def test_the_documented_example_runs_in_an_empty_directory(tmp_path: Path) -> None:
    (block,) = code_blocks(PAGE, "python")
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith(("CONTEXTFIND_", "OPENVIKING_"))
    }
    ran = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env=clean | {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash", "HOME": str(tmp_path)},
        check=True, capture_output=True, timeout=60, text=True,
    )  # fmt: skip
    first, *others = ran.stdout.splitlines()
    assert first.startswith("No chat model is configured")
    assert others[0].startswith("viking://resources/docs/releases.md ")
    assert len(others) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "docs"]
