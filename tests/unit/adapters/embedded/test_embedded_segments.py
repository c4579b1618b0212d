"""Segments built, merged, and written to a file."""

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.embedded.arrays import ArrayFile, Heap
from contextfind.adapters.embedded.building import Entry, build_segment
from contextfind.adapters.embedded.merging import Site, Source, StoppedError, merge_segments
from contextfind.adapters.embedded.packing import pack_segment, unpack_segment
from contextfind.adapters.embedded.postings import Postings
from contextfind.adapters.embedded.segment import Segment
from contextfind.ports.store import Change
from tests.builders import DIMENSION, make_change, make_record
from tests.fakes import SimpleTokenizer
from tests.strategies import last_changes, logs


def entries(changes: Sequence[Change]) -> list[Entry]:
    return [Entry(c.record, c.passages, c.vectors) for c in changes if c.record and c.passages]


def segment_of(items: Sequence[Entry]) -> Segment:
    return build_segment(items, SimpleTokenizer(), DIMENSION)


def pack(segment: Segment, path: Path) -> None:
    with ArrayFile(path) as file:
        pack_segment(segment, file)


def content(segment: Segment) -> dict[str, object]:
    """Return all of a segment in plain values."""

    def plain(value: object) -> object:
        if isinstance(value, np.ndarray):
            return (value.dtype.str, value.tolist())
        if isinstance(value, Postings):
            return [value.keys, *(plain(x) for x in (value.start, value.members, value.counts))]
        return value

    return {name: plain(getattr(segment, name)) for name in Segment.__dataclass_fields__}


def shares(log: Sequence[Change], seed: int) -> tuple[list[Source], list[Entry]]:
    """Return the log in three segments of which most records are wanted, and those that are."""
    rng = random.Random(seed)  # noqa: S311
    parts: list[list[Entry]] = [[], [], []]
    for entry in entries(list(last_changes(log).values())):
        rng.choice(parts).append(entry)
    sources: list[Source] = []
    kept: list[Entry] = []
    for part in filter(None, parts):
        segment = segment_of(part)
        wanted = [e for e in part if rng.random() < 0.7]
        ids = np.array(sorted(segment.holding(np.array([e.record.id for e in wanted], np.int64))))
        sources.append(Source(segment, ids.astype(np.int64)))
        kept.extend(wanted)
    return sources, kept


@given(log=logs(40), seed=st.integers(0, 2**16), block=st.sampled_from((1, 3, 4_096)))
@settings(max_examples=120, deadline=None)
def test_merging_parts_gives_what_building_the_kept_ones_at_once_gives(
    log: list[Change], seed: int, block: int
) -> None:
    sources, kept = shares(log, seed)
    if sources:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("merging._ITEMS", "merging._POSTINGS", "interleaving._STEP"):
                patch.setattr(f"contextfind.adapters.embedded.{name}", block)
            assert content(merge_segments(sources)) == content(segment_of(kept))


@given(log=logs(30), seed=st.integers(0, 2**16))
@settings(max_examples=40, deadline=None)
def test_merging_into_a_file_gives_the_same_segment(log: list[Change], seed: int) -> None:
    sources, _ = shares(log, seed)
    if not sources:
        return
    with tempfile.TemporaryDirectory() as room:
        one, two = Path(room) / "one", Path(room) / "two"
        with ArrayFile(one) as file:
            pack_segment(merge_segments(sources, Site(file, lambda: False)), file)
        pack(merge_segments(sources), two)
        assert content(unpack_segment(one)) == content(unpack_segment(two))


def test_merging_stops_when_told() -> None:
    segment = segment_of([Entry(make_record(), (), None)])
    asked: list[int] = []

    def stopped() -> bool:
        asked.append(1)
        return len(asked) > 2

    with pytest.raises(StoppedError):
        merge_segments([Source(segment, np.array([0]))], Site(Heap(), stopped))
    assert len(asked) == 3


def test_a_word_that_a_passage_repeats_three_hundred_times_is_counted_so() -> None:
    rare = segment_of(entries([make_change(1, make_record(1), ["cache " * 300])]))
    plain = segment_of(entries([make_change(2, make_record(2), ["cache"])]))
    assert (rare.words.counts.tolist(), plain.words.counts.tolist()) == ([300], [1])
    everything = np.array([0])
    both = merge_segments([Source(rare, everything), Source(plain, everything)])
    assert sorted(both.words.counts.tolist()) == [1, 300]
    assert both.words.counts.dtype == np.int32
    assert merge_segments([Source(plain, everything)]).words.counts.dtype == np.uint8


@given(log=logs(30))
@settings(max_examples=40, deadline=None)
def test_a_file_gives_back_the_same_segment(
    tmp_path_factory: pytest.TempPathFactory, log: list[Change]
) -> None:
    path = tmp_path_factory.mktemp("packed") / "one"
    segment = segment_of(entries(list(last_changes(log).values())))
    pack(segment, path)
    assert content(unpack_segment(path)) == content(segment)


def test_each_row_keeps_the_pairs_of_its_words_and_no_others() -> None:
    texts = ["deploy the cache", "cache deploy cache", "bye bye", "回 滚 deploy", "", "deploy"]
    segment = segment_of(entries([make_change(1, make_record(), texts)]))
    assert np.diff(segment.pair_start).tolist() == [2, 1, 0, 0, 0, 0]


def test_any_term_survives_the_file(tmp_path: Path) -> None:
    class Whole(SimpleTokenizer):
        def terms(self, text: str) -> list[str]:
            return [text]

    texts = ["", "\x00", "a\nb", "\ud800", "😀", "回滚"]
    segment = build_segment(entries([make_change(1, make_record(), texts)]), Whole(), DIMENSION)
    pack(segment, tmp_path / "one")
    again = unpack_segment(tmp_path / "one")
    assert sorted(again.words.keys) == sorted(texts)
    assert content(again) == content(segment)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"\x93NUMPY nothing of the kind")
    with pytest.raises(ValueError, match="no file of arrays"):
        unpack_segment(tmp_path / "one")
    (tmp_path / "short").write_bytes(b"x")
    with pytest.raises(ValueError, match="no file of arrays"):
        unpack_segment(tmp_path / "short")


def test_equal_batches_give_equal_files(tmp_path: Path) -> None:
    changes = [make_change(i, make_record(i, f"viking://resources/{i}"), ["a"]) for i in (3, 1, 2)]
    pack(segment_of(entries(changes)), tmp_path / "one")
    pack(segment_of(entries(changes[::-1])), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
