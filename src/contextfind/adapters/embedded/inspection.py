"""What is wrong with a search index on disk: every file read, none touched."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contextfind.adapters.embedded.graph import available
from contextfind.adapters.embedded.postings import Longs
from contextfind.adapters.embedded.shelf import Shelf


@dataclass(frozen=True, slots=True)
class IndexState:
    """Up to where in the log an index stands, by which embedder's vectors, and the ids that it finds, ascending."""

    position: int
    fingerprint: str
    ids: Longs


def inspect_index(directory: Path) -> IndexState | None:
    """Return how the index in a directory is; None where there is none. Blocks.

    Raises:
        DamagedError: a file is missing, or not what was written.

    """
    maker = Shelf.maker_of(directory, graphs=available())
    if maker is None:
        return None
    snapshot = Shelf(directory, maker).examine()
    kept = [view.segment.ids[view.kept] for view in snapshot.views]
    ids = np.sort(np.concatenate(kept)) if kept else np.zeros(0, np.int64)
    return IndexState(snapshot.position, maker.fingerprint, ids)
