"""Case R081 as it is written: 5,000 files indexed anew by a real server that is asked all the while."""

# ruff: noqa: N802 - a test is named after its case

import io
import time
import zipfile
from pathlib import Path

import pytest

from tests.processes import ServerProcess

FILES = 5_000
ROOT = "viking://resources/notes"
SECONDS = 900.0  # for the ingest on a busy machine; about 30 on an idle one
BETWEEN = 0.2  # seconds, as the case says


def packed() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(FILES):
            text = f"# Note {number}\n\nAll about marker{number}q and its harbour.\n"
            archive.writestr(f"d{number % 50}/n{number}.md", text)
    return buffer.getvalue()


@pytest.mark.slow  # tests/api/test_reindex asks the same of 60 files
def test_R081_finds_stay_complete_and_agree_while_5000_files_are_indexed_anew(
    tmp_path: Path,
) -> None:
    with ServerProcess(tmp_path / "data") as server:
        server.start().wait_healthy()
        server.http.timeout = SECONDS
        upload = server.call(
            "POST",
            "/api/v1/resources/temp_upload",
            files={"file": ("notes.zip", packed(), "application/zip")},
        )
        added = {"temp_file_id": upload["temp_file_id"], "to": ROOT, "wait": True}
        server.call("POST", "/api/v1/resources", json={**added, "timeout": SECONDS})
        task = server.call("POST", "/api/v1/content/reindex", json={"wait": False})["task_id"]
        finds = 0
        told = {"status": "pending"}
        while told["status"] in {"pending", "running"}:
            number = finds * 97 % FILES
            wanted = f"{ROOT}/d{number % 50}/n{number}.md"
            for scope in ({}, {"target_uri": ROOT}):
                found = server.find(f"marker{number}q", limit=100, level=2, **scope)
                assert len(found) == 100
                assert found[0]["uri"] == wanted
            finds += 1
            told = server.call("GET", f"/api/v1/tasks/{task}")
            time.sleep(BETWEEN)  # noqa: TID251 - the case says how often
        assert told["status"] == "completed", told
        assert told["result"]["failed_records"] == 0
        assert told["result"]["rebuilt_records"] >= FILES
        assert finds > 3
