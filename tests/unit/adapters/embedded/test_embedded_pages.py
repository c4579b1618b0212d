import ctypes
import mmap
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextfind.adapters.embedded import pages
from contextfind.adapters.embedded.pages import large_pages

_ranges = st.lists(st.integers(0, 40), max_size=8, unique=True).map(
    lambda ends: list(zip(*[iter(sorted(ends))] * 2, strict=False))
)


@given(_ranges, _ranges)
def test_new_ranges_are_what_was_not_there_before(
    before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    def members(ranges: list[tuple[int, int]]) -> list[int]:
        return [number for start, stop in ranges for number in range(start, stop)]

    new = members(pages._new(before, after))
    assert sorted(new) == sorted(set(members(after)) - set(members(before)))


class Told:
    """Stands for the system's library."""

    def __init__(self) -> None:
        self.blocks: list[tuple[int, int, int]] = []

    def madvise(self, address: ctypes.c_void_p, size: ctypes.c_size_t, advice: int) -> int:
        self.blocks.append((address.value or 0, size.value, advice))
        return -1  # no error of ours


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells where memory lies")
@pytest.mark.parametrize(("filled", "advice"), [(False, {14}), (True, {14, 25})])
def test_memory_taken_inside_is_asked_for_in_large_pages(
    monkeypatch: pytest.MonkeyPatch, *, filled: bool, advice: set[int]
) -> None:
    told = Told()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: told)
    with large_pages(filled=filled):
        taken = mmap.mmap(-1, 1 << 24, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address = np.frombuffer(taken, np.uint8).ctypes.data
    mine = [known for known in told.blocks if known[0] <= address < known[0] + known[1]]
    assert {known[2] for known in mine} == advice


def test_small_memory_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    blocks = iter([[], [(0, 4_096)]])
    monkeypatch.setattr(pages, "_blocks", lambda: next(blocks))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: told)
    with large_pages(filled=False):
        pass
    assert told.blocks == []
