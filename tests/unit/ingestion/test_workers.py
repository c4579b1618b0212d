import asyncio
from collections.abc import Sequence

import pytest

from contextfind.adapters.local.words import WordTokenizer
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import UnavailableError
from contextfind.domain.uri import Uri
from contextfind.ingestion.follower import Follower
from contextfind.ingestion.pulse import Pulse
from contextfind.ports import Change
from tests.households import ANN, DOCS, household


class MoodyStore(MemoryRecordStore):
    """Fails its first reads of the log."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        if self.failures:
            self.failures -= 1
            raise UnavailableError("the disk is busy")
        return await super().changes(after, limit)


async def test_the_follower_outlives_a_store_that_fails_and_says_so_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    follower = Follower(MoodyStore(1), MemoryIndex(WordTokenizer()), Pulse())
    task = asyncio.create_task(follower.run())
    await asyncio.sleep(0.05)
    assert follower.standing == "does not follow: the disk is busy"
    await asyncio.sleep(1.2)
    assert follower.standing == "ok"
    assert not task.done()
    assert "trying again" in caplog.text
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_summaries_are_written_after_all_when_the_disk_was_full_for_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with household() as house:
        put, failures = house.blobs.put, [2]

        async def failing(blobs: Sequence[bytes]) -> Sequence[str]:
            if failures[0] and any(blob.startswith(b"# docs") for blob in blobs):
                failures[0] -= 1
                raise UnavailableError("no space left")
            return await put(blobs)

        house.blobs.put = failing  # type: ignore[method-assign]
        await house.writer.write(ANN, DOCS.child("a.md"), "the quokka", "create")
        await house.settled()
        assert failures == [0]
        assert "a.md" in await house.browser.overview(ANN, Uri("viking://resources/docs"))
        assert "no space left" in caplog.text
