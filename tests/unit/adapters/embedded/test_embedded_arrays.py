from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.embedded import interleaving
from contextfind.adapters.embedded.arrays import ArrayFile, map_arrays
from contextfind.adapters.embedded.interleaving import interleave
from contextfind.adapters.embedded.pages import let_go, mapping_of


def test_arrays_come_back_aligned_and_read_only(tmp_path: Path) -> None:
    with ArrayFile(tmp_path / "one") as file:
        file.put("bytes", np.arange(5, dtype=np.uint8))
        filled = file.empty("matrix", (3, 7), np.float32)
        file.put("none", np.zeros((0, 4), np.int64))
        later: Any = file.empty("later", (10_000,), np.int64)
        filled[:] = 2.5
        later[:] = np.arange(10_000)
        file.seal()
    arrays = map_arrays(tmp_path / "one")
    assert arrays["bytes"].tolist() == [0, 1, 2, 3, 4]
    assert (arrays["matrix"] == 2.5).all()
    assert arrays["matrix"].shape == (3, 7)
    assert arrays["none"].shape == (0, 4)
    assert arrays["later"].tolist() == list(range(10_000))
    for values in arrays.values():
        assert values.size == 0 or values.ctypes.data % 64 == 0
    with pytest.raises(ValueError, match="read-only"):
        arrays["later"][0] = 1


def test_a_file_that_is_gone_stays_readable_where_it_is_mapped(tmp_path: Path) -> None:
    with ArrayFile(tmp_path / "one") as file:
        file.put("numbers", np.arange(100_000))
        file.seal()
    numbers = map_arrays(tmp_path / "one")["numbers"]
    (tmp_path / "one").unlink()
    assert int(numbers.sum()) == 4_999_950_000


def test_a_file_that_was_not_sealed_is_none(tmp_path: Path) -> None:
    with ArrayFile(tmp_path / "one") as file:
        file.put("numbers", np.arange(100))
    with pytest.raises(ValueError, match="no file of arrays"):
        map_arrays(tmp_path / "one")


@given(
    parts=st.lists(st.sets(st.text("ab文\ud800", max_size=3)).map(sorted), max_size=4),
    step=st.integers(1, 5),
    few=st.sampled_from((0, 1, 8, 1_000)),
)
@settings(max_examples=200, deadline=None)
def test_lists_are_interleaved_whatever_the_step(
    parts: list[list[str]], step: int, few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interleaving, "_STEP", step)
        patch.setattr(interleaving, "_FEW", few)
        merged, places = interleave(parts)
    assert merged == sorted(set().union(*parts))
    assert [[merged[place] for place in own.tolist()] for own in places] == parts


def test_pages_that_were_let_go_are_read_again(tmp_path: Path) -> None:
    with ArrayFile(tmp_path / "one") as file:
        file.empty("numbers", (100_000,), np.int64)[:] = np.arange(100_000)
        file.seal()
    numbers = map_arrays(tmp_path / "one")["numbers"]
    pages = mapping_of(numbers[5:])
    assert pages is not None
    let_go(pages)
    assert int(numbers.sum()) == 4_999_950_000


def test_memory_of_its_own_is_no_mapping() -> None:
    assert mapping_of(np.zeros((3, 4)).reshape(-1)[1:]) is None
