"""A batch of records to a segment: the only place where text is cut into terms."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from contextfind.adapters.embedded.phrases import Numbers, pairs_of
from contextfind.adapters.embedded.postings import Ints, Longs, Postings, pack
from contextfind.adapters.embedded.segment import CONTEXT_TYPES, Group, Segment, micros
from contextfind.domain.records import Matrix, Passage, Record
from contextfind.ports.models import Tokenizer

Key = tuple[str, str, str]  # account, owner, folder of the parent


@dataclass(frozen=True, slots=True)
class Entry:
    """A record with at least one passage; `vectors` has one row per passage, or is None."""

    record: Record
    passages: Sequence[Passage]
    vectors: Matrix | None


def build_segment(entries: Sequence[Entry], tokenizer: Tokenizer, dimension: int) -> Segment:
    """Return the entries as a segment; vectors must have `dimension` columns."""
    entries = sorted(entries, key=_tree_order)
    records = [entry.record for entry in entries]
    names = sorted({record.name for record in records})
    place_of = {name: place for place, name in enumerate(names)}
    keys, starts = runs_of([key_of(record) for record in records])
    passages = [passage for entry in entries for passage in entry.passages]
    texts = [tokenizer.terms(passage.indexed_text) for passage in passages]
    length = np.array([len(terms) for terms in texts], np.int32)
    words, pair_start, pairs = _words(texts, length)
    stored = [entry.vectors for entry in entries if entry.vectors is not None]
    return Segment(
        groups=groups_of(keys, starts),
        folders=[folder for _, _, folder in keys],
        folder_start=starts,
        names=names,
        name_of=np.array([place_of[record.name] for record in records], np.int32),
        ids=np.array([record.id for record in records], np.int64),
        level=np.array([record.level.value for record in records], np.uint8),
        context_type=np.array(
            [CONTEXT_TYPES.index(record.context_type) for record in records], np.uint8
        ),
        created=np.array([micros(record.created_at) for record in records], np.int64),
        updated=np.array([micros(record.updated_at) for record in records], np.int64),
        row_start=starts_of([len(entry.passages) for entry in entries]),
        vector_start=starts_of([0 if e.vectors is None else len(e.vectors) for e in entries]),
        ordinal=np.array([passage.ordinal for passage in passages], np.int32),
        length=length,
        pair_start=pair_start,
        pairs=pairs,
        vectors=np.concatenate(stored) if stored else np.zeros((0, dimension), np.float32),
        words=words,
        tags=_tags(records),
    )


def key_of(record: Record) -> Key:
    """Return where in the order of segments a record lies."""
    parent = record.parent
    return (record.account, record.owner, "" if parent is None else parent.folder)


def runs_of(keys: Sequence[Key]) -> tuple[list[Key], Longs]:
    """Return the distinct keys of a sorted sequence and where each begins, the end put last."""
    distinct: list[Key] = []
    sizes: list[int] = []
    for key, run in groupby(keys):
        distinct.append(key)
        sizes.append(sum(1 for _ in run))
    return distinct, starts_of(sizes)


def groups_of(keys: Sequence[Key], starts: Longs) -> tuple[Group, ...]:
    """Return the groups that sorted folders fall into."""
    groups: list[Group] = []
    for (account, owner), run in groupby(range(len(keys)), key=lambda place: keys[place][:2]):
        places = list(run)
        low, high = places[0], places[-1] + 1
        groups.append(Group(account, owner, (int(starts[low]), int(starts[high])), (low, high)))
    return tuple(groups)


def starts_of(sizes: Sequence[int] | Longs) -> Longs:
    """Return where each of adjacent ranges begins, the end put last."""
    starts: Longs = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(np.asarray(sizes, np.int64), out=starts[1:])
    return starts


def _tree_order(entry: Entry) -> tuple[str, str, str, str, int, int]:
    record = entry.record
    return (*key_of(record), record.name, record.level.value, record.id)


def _words(texts: Sequence[Sequence[str]], length: Ints) -> tuple[Postings, Longs, Numbers]:
    """Return which terms stand in which rows, where the pairs of each row begin, and the pairs."""
    known: dict[str, int] = {}
    seen = [known.setdefault(term, len(known)) for terms in texts for term in terms]
    term_of = np.array(seen, np.int64)
    row_of = np.repeat(np.arange(len(texts)), length)
    keys = sorted(known)
    rank = np.zeros(len(keys), np.int64)
    rank[[known[key] for key in keys]] = np.arange(len(keys))
    bags, counts = np.unique(rank[term_of] * len(texts) + row_of, return_counts=True)
    held = pack(keys, bags // len(texts), bags % len(texts), counts.astype(np.int32))
    return held, *pairs_of(list(known), term_of, row_of, len(texts))


def _tags(records: Sequence[Record]) -> Postings:
    keys = sorted({tag for record in records for tag in record.tags})
    place_of = {key: place for place, key in enumerate(keys)}
    pairs = [(place_of[tag], i) for i, record in enumerate(records) for tag in set(record.tags)]
    places = np.array([place for place, _ in pairs], np.int64)
    members = np.array([member for _, member in pairs], np.int64)
    return pack(keys, places, members, np.ones(len(pairs), np.int32))
