"""What every sweep of blobs promises: only what nobody names and nobody has just put is taken away."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.memory.blobs import MemoryBlobs
from contextfind.domain.errors import NotFoundError
from contextfind.ports.housekeeping import NameKeys, Swept

NOBODY = np.array([], np.uint64)


@dataclass
class Cellar:
    """The blobs, and a way to let minutes pass."""

    blobs: FileBlobs | MemoryBlobs
    minutes_pass: Callable[[], None]

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
        memory = MemoryBlobs()
        yield Cellar(memory, memory.recent.clear)
        return
    now = [0.0]

    def later() -> None:
        now[0] += 600

    files = FileBlobs(tmp_path / "blobs", lambda: now[0])
    yield Cellar(files, later)
    await files.aclose()


def keys(*digests: str) -> NameKeys:
    return np.array(sorted(int(digest[:16], 16) for digest in digests), np.uint64)


async def old(cellar: Cellar, blobs: Sequence[bytes]) -> list[str]:
    """Put blobs, and let time pass until nobody remembers."""
    digests = list(await cellar.blobs.put(blobs))
    for _ in range(2):
        cellar.minutes_pass()
        await cellar.blobs.put([b"another"])
    cellar.minutes_pass()
    return digests


async def test_what_nobody_names_goes_and_what_is_named_stays(cellar: Cellar) -> None:
    wanted = [b"%d" % number * 100 for number in range(400)]
    digests = await old(cellar, wanted)
    await cellar.blobs.watch()
    swept = await cellar.sweep(keys(*digests[::2]))
    cellar.blobs.rest()
    assert await cellar.there(digests) == [True, False] * 200
    gone = sum(map(len, wanted[1::2]))
    assert swept.things in (200, 201)  # and perhaps the one that let time pass
    assert swept.bytes in (gone, gone + len(b"another"))


async def test_nothing_goes_without_a_watch(cellar: Cellar) -> None:
    digests = await old(cellar, [b"x"])
    assert await cellar.sweep() == Swept()
    await cellar.blobs.watch()
    cellar.blobs.rest()
    assert await cellar.sweep() == Swept()
    assert await cellar.there(digests) == [True]


async def test_what_was_put_a_moment_ago_stays(cellar: Cellar) -> None:
    await old(cellar, [b"x"])
    digests = await cellar.blobs.put([b"y"])
    await cellar.blobs.watch()
    await cellar.sweep()
    assert await cellar.there(digests) == [True]


async def test_what_is_put_again_during_the_watch_stays(cellar: Cellar) -> None:
    digests = await old(cellar, [b"x", b"y"])
    await cellar.blobs.watch()
    await cellar.blobs.put([b"x"])
    for _ in range(3):  # however long the watch takes
        cellar.minutes_pass()
        await cellar.blobs.put([b"z"])
    await cellar.sweep()
    assert await cellar.there(digests) == [True, False]


async def test_a_blob_that_went_can_be_put_again(cellar: Cellar) -> None:
    digests = await old(cellar, [b"x"])
    await cellar.blobs.watch()
    await cellar.sweep()
    assert await cellar.there(digests) == [False]
    assert list(await cellar.blobs.put([b"x"])) == digests
    await cellar.sweep()
    assert await cellar.there(digests) == [True]


async def test_puts_beside_a_sweep_lose_nothing(cellar: Cellar) -> None:
    blobs = [b"%d" % number for number in range(300)]
    await old(cellar, blobs)
    await cellar.blobs.watch()
    puts = [cellar.blobs.put(blobs[start : start + 10]) for start in range(0, 300, 10)]
    sweeping = asyncio.create_task(cellar.sweep())
    digests = await asyncio.gather(*puts)
    await sweeping
    assert all(await cellar.there([digest for part in digests for digest in part]))
