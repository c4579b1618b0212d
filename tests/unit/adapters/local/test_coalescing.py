import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from contextfind.adapters.local.coalescing import Coalescer
from contextfind.domain.records import Matrix


async def test_those_who_wait_together_go_in_one_call_and_equal_texts_once() -> None:
    calls: list[list[str]] = []

    def lengths(texts: Sequence[str]) -> Matrix:
        calls.append(list(texts))
        return np.array([[len(text)] for text in texts], np.float32)

    free = threading.Event()
    with ThreadPoolExecutor(1) as engine:
        engine.submit(free.wait)
        coalescer = Coalescer(engine, lengths, most=4)
        asked = [coalescer.row(text) for text in ("a", "bb", "a", "ccc", "a")]
        waiting = asyncio.gather(*asked)
        await asyncio.sleep(0)
        free.set()
        rows = await waiting
    assert calls == [["a", "bb", "ccc"], ["a"]]
    assert [row.tolist() for row in rows] == [[1.0], [2.0], [1.0], [3.0], [1.0]]


async def test_a_fault_of_the_engine_reaches_all_who_wait() -> None:
    def broken(_: Sequence[str]) -> Matrix:
        raise MemoryError("no room")

    with ThreadPoolExecutor(1) as engine:
        coalescer = Coalescer(engine, broken)
        found = await asyncio.gather(coalescer.row("a"), coalescer.row("b"), return_exceptions=True)
    assert [str(fault) for fault in found] == ["no room", "no room"]
    with pytest.raises(RuntimeError):
        await coalescer.row("a")
