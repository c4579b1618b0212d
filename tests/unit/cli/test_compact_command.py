import asyncio
import json
from pathlib import Path

import pytest

from contextfind.adapters.files.lock import DirectoryLock
from contextfind.config.load import load_settings
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.wiring import House
from tests.schemas import ON_POSTGRES, directory_only
from tests.unit.cli.calling import call, error_of

ME = Identity("default", "default")
A = Uri("viking://resources/a.md")


async def _live(directory: Path) -> None:
    """Write a file again and again, and nobody tidies."""
    given = {
        "storage.path": str(directory),
        "embedding.provider": "hash",
        "storage.idle_seconds": 0,
    }
    async with House.open(load_settings(None, {}, given).settings) as house:
        for version in range(8):
            text = f"# Version {version}\n\n" + "".join(f"word{version}{n} " for n in range(20_000))
            await house.writer.write(ME, A, text, "replace")
        await house.settling.settle(None, None, 30)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("lived")
    asyncio.run(_live(directory))
    return directory


def size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def test_what_was_written_over_is_given_back(lived: Path) -> None:
    before = size(lived)
    result = call("compact", "--data", str(lived), "--json")
    assert result.exit_code == 0, result.stderr
    told = {row["what"]: row for row in json.loads(result.stdout)}
    assert list(told) == ["old tasks", "old uploads", "loose blobs", "database"]
    if ON_POSTGRES:
        return  # who may still name a blob is unknown for a day, and pages are given back by VACUUM
    assert told["loose blobs"]["things"] >= 7
    assert told["database"]["bytes"] > 0
    told_bytes = sum(row["bytes"] for row in told.values())
    assert before - size(lived) == pytest.approx(told_bytes, abs=16_384)  # a log of a few pages
    again = call("compact", "--data", str(lived))
    assert again.exit_code == 0, again.stderr
    assert again.stdout.splitlines()[0].split() == ["what", "things", "bytes", "given", "back"]
    assert [int(line.split()[-1]) < 16_384 for line in again.stdout.splitlines()[1:]] == [True] * 4


@directory_only  # it has a lock
def test_a_directory_in_use_is_left_alone(lived: Path) -> None:
    with DirectoryLock(lived):
        result = call("compact", "--data", str(lived), "--json")
    assert result.exit_code == 3
    assert "in use" in error_of(result)["message"]


@directory_only
def test_a_directory_without_data_is_not_made_one(tmp_path: Path) -> None:
    result = call("compact", "--data", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "there is no data" in result.stderr
    assert not (tmp_path / "none").exists()
