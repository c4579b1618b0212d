"""The hits of a walk so far, in columns: each record once, in the order they were seen."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from contextfind.domain.records import LEVELS, RecordId, shown_address
from contextfind.ports import Hit, Hits


class Pool:
    """Rows of hits, each with its own score and its source.

    records, own, leaves: per row the record, its own score, whether it is a file. sources: whose evidence counts,
    by folder: a file's directory, a directory itself.
    """

    def __init__(self) -> None:
        self.records: list[RecordId] = []
        self.sources: list[str] = []
        self.own: NDArray[np.float64] = np.zeros(0)
        self.leaves: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._row: dict[RecordId, int] = {}
        self._seen: list[tuple[Hits, int]] = []  # where the hit of each row stands

    def add(self, hits: Hits, own: NDArray[np.float64], sources: Sequence[str]) -> None:
        """Add the hits that are not there yet."""
        known = self._row
        records = cast("list[RecordId]", hits.ids.tolist())
        fresh = [place for place, record in enumerate(records) if record not in known]
        if not fresh:
            return
        begin = len(self.records)
        self.records.extend([records[place] for place in fresh])
        self.sources.extend([sources[place] for place in fresh])
        self._seen.extend([(hits, place) for place in fresh])
        known.update(zip(self.records[begin:], range(begin, len(self.records)), strict=True))
        self.own = np.concatenate((self.own, own[fresh]))
        self.leaves = np.concatenate((self.leaves, hits.leaves[fresh]))

    def row(self, record: RecordId) -> int:
        """Return the row of a record that was seen."""
        return self._row[record]

    def hit(self, row: int) -> Hit:
        """Return the hit of a row."""
        hits, place = self._seen[row]
        return hits[place]

    def shown(self, row: int) -> str:
        """Return the address of a row as it is shown."""
        hits, place = self._seen[row]
        return shown_address(hits.uri(place), LEVELS[hits.levels.item(place)])
