"""What is opened when parts of a data directory come from different days."""

import asyncio
import logging
import shutil
from pathlib import Path

import pytest

from contextfind.config.load import load_settings
from contextfind.config.model import Settings
from contextfind.domain.identity import Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.uri import Uri
from contextfind.wiring import House
from tests.schemas import directory_only

ME = Identity("default", "default")


class Told(logging.Handler):
    """Hears when something is logged."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.heard = asyncio.Event()
        self._words = words

    def emit(self, record: logging.LogRecord) -> None:
        if self._words in record.getMessage():
            self.heard.set()


def settings_of(directory: Path, idle_seconds: float) -> Settings:
    given = {
        "storage.path": str(directory),
        "storage.idle_seconds": idle_seconds,
        "embedding.provider": "hash",
    }
    return load_settings(None, {}, given).settings


async def addresses(house: House) -> set[str]:
    await house.settling.settle(None, None, 30)
    question = FindQuestion("topic", limit=20)
    found = await house.finder.find(RequestContext(ME, "r"), question)
    return {hit.uri.text for hit in found.resources if hit.uri.name.endswith(".md")}


async def write(house: House, *names: str) -> None:
    for name in names:
        text = f"# {name}\n\nThe topic of {name}.\n"
        await house.writer.write(ME, Uri(f"viking://resources/{name}.md"), text, "replace")


@directory_only  # an index beside the data
async def test_an_index_of_an_older_day_does_not_bring_back_what_the_log_has_forgotten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, older = tmp_path / "data", tmp_path / "older"
    async with House.open(settings_of(data, 0)) as house:
        await write(house, "a", "b", "c")
        assert len(await addresses(house)) >= 3
    shutil.copytree(data / "index", older)
    async with House.open(settings_of(data, 0)) as house:
        await house.writer.remove(ME, Uri("viking://resources/a.md"), recursive=False)
        await write(house, "d")
        left = await addresses(house)
        assert "viking://resources/a.md" not in left
    told = Told("log entries of what is gone")
    keeper = logging.getLogger("contextfind.ingestion.housekeeping")
    keeper.addHandler(told)
    with caplog.at_level("INFO"):
        async with House.open(settings_of(data, 0.1)), asyncio.timeout(60):
            await told.heard.wait()
    keeper.removeHandler(told)
    shutil.rmtree(data / "index")
    shutil.copytree(older, data / "index")
    async with House.open(settings_of(data, 0)) as house:
        assert await addresses(house) == left
    assert "it is built anew" in caplog.text
