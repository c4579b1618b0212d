"""What every sweep of blobs promises: only what nobody names and nobody is just putting is taken away."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.files.stillness import Stillness
from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.domain.errors import FailedPreconditionError, NotFoundError, UnavailableError
from contextfind.ports.housekeeping import NameKeys, Swept

NOBODY = np.array([], np.uint64)


@dataclass
class Cellar:
    """The blobs, all shelves of them."""

    blobs: FileBlobs | MemoryBlobs

    async def sweep(self, named: NameKeys = NOBODY) -> Swept:
        shelves = [await self.blobs.sweep(shelf, named) for shelf in self.blobs.shelves]
        return sum(shelves, Swept())

    async def there(self, digests: Sequence[str]) -> list[bool]:
        found = []
        for digest in digests:
            try:
                await self.blobs.get(digest)
            except NotFoundError:
                found.append(False)
            else:
                found.append(True)
        return found


@pytest.fixture(params=["memory", "files"])
async def cellar(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cellar]:
    if request.param == "memory":
        yield Cellar(MemoryBlobs())
        return
    files = FileBlobs(tmp_path / "blobs")
    yield Cellar(files)
    await files.aclose()


def keys(*digests: str) -> NameKeys:
    return np.array(sorted(int(digest[:16], 16) for digest in digests), np.uint64)


async def test_what_nobody_names_goes_and_what_is_named_stays(cellar: Cellar) -> None:
    wanted = [b"%d" % number * 100 for number in range(400)]
    digests = await cellar.blobs.put(wanted)
    await cellar.blobs.watch()
    assert await cellar.sweep(keys(*digests[::2])) == Swept(200, sum(map(len, wanted[1::2])))
    assert await cellar.there(digests) == [True, False] * 200


async def test_nothing_goes_without_a_watch(cellar: Cellar) -> None:
    digests = await cellar.blobs.put([b"x"])
    assert await cellar.sweep() == Swept()
    await cellar.blobs.watch()
    cellar.blobs.rest()
    assert await cellar.sweep() == Swept()
    assert await cellar.there(digests) == [True]


async def test_what_is_put_again_during_the_watch_stays(cellar: Cellar) -> None:
    digests = await cellar.blobs.put([b"x", b"y"])
    await cellar.blobs.watch()
    await cellar.blobs.put([b"x"])
    assert await cellar.sweep() == Swept(1, 1)
    assert await cellar.there(digests) == [True, False]
    cellar.blobs.rest()
    await cellar.blobs.watch()
    assert await cellar.sweep() == Swept(1, 1)


async def test_a_blob_that_went_can_be_put_again(cellar: Cellar) -> None:
    digests = await cellar.blobs.put([b"x"])
    await cellar.blobs.watch()
    await cellar.sweep()
    assert await cellar.there(digests) == [False]
    assert list(await cellar.blobs.put([b"x"])) == list(digests)
    await cellar.sweep()
    assert await cellar.there(digests) == [True]


async def test_a_watch_begins_when_the_filings_before_it_are_closed(cellar: Cellar) -> None:
    with cellar.blobs.filing():
        await cellar.blobs.put([b"x"])
        watching = asyncio.create_task(cellar.blobs.watch())
        with cellar.blobs.filing():  # begun later: what it puts is remembered
            await cellar.blobs.put([b"y"])
        await asyncio.sleep(0)
        assert not watching.done()
    await watching
    cellar.blobs.rest()
    with cellar.blobs.filing():
        pass
    await cellar.blobs.watch()


async def test_a_filing_that_fails_is_closed_too(cellar: Cellar) -> None:
    with pytest.raises(NotFoundError), cellar.blobs.filing():
        await cellar.blobs.get("0" * 64)
    await cellar.blobs.watch()


async def test_puts_beside_a_sweep_lose_nothing(cellar: Cellar) -> None:
    blobs = [b"%d" % number for number in range(300)]
    await cellar.blobs.put(blobs)
    await cellar.blobs.watch()
    sweeping = asyncio.create_task(cellar.sweep())
    putting = [
        asyncio.create_task(cellar.blobs.put(blobs[start : start + 10]))
        for start in range(0, 300, 10)
    ]
    digests = await asyncio.gather(*putting)
    await sweeping
    assert all(await cellar.there([digest for part in digests for digest in part]))


async def test_nothing_goes_while_a_backup_reads_and_all_of_it_afterwards(tmp_path: Path) -> None:
    blobs = FileBlobs(tmp_path / "blobs", Stillness(tmp_path))
    digests = await blobs.put([b"read by and by"])
    await blobs.watch()
    with Stillness(tmp_path).held():
        with pytest.raises(UnavailableError, match="a backup is being taken"):
            await Cellar(blobs).sweep()
        second = Stillness(tmp_path, patience=0.01).held()
        with pytest.raises(FailedPreconditionError, match="another backup"), second:
            raise AssertionError
        assert await Cellar(blobs).there(digests) == [True]
    assert (await Cellar(blobs).sweep()).things == 1
    await blobs.aclose()
