"""Data directories that outlive a run, so that the next one need not wait for the model again."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from contextfind.domain.documents import TEXT_RECIPE
from tests.benchmark.sets import RetrievalSet

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "contextfind"
DATA = "contextfind-data"  # where `contextfind serve` puts it by default
STAMP = "ingested.txt"  # what the data was made of; written when the ingest has ended


class NotOursError(Exception):
    """A folder that this program did not make stands where it wants to write."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder per set below `root`.

    trusting: take what is there if only the documents are the same, even when the code that reads and
    cuts them has changed since. provider: of the embedder.
    """

    root: Path
    trusting: bool = False
    provider: str = "local"

    def place(self, wanted: RetrievalSet) -> tuple[Path, bool]:
        """Return the server's folder for a set, and whether the set is in it already.

        The search index of kept data is thrown away: it is rebuilt from stored vectors in seconds, and
        one of an older tokenizer would be measured otherwise.

        Raises:
            NotOursError: something else is there.

        """
        folder = self.root / wanted.name
        stamp = folder / STAMP
        if stamp.exists() and self._fits(stamp.read_text(encoding="utf-8"), wanted):
            shutil.rmtree(folder / DATA / "index", ignore_errors=True)
            return folder, True
        if folder.exists():
            if any(folder.iterdir()) and not (folder / DATA).is_dir():
                raise NotOursError(f"{folder} is not empty and holds no data of a benchmark")
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        return folder, False

    def note(self, folder: Path, wanted: RetrievalSet) -> None:
        """Write down that a set was ingested whole."""
        (folder / STAMP).write_text(self._stamp(wanted), encoding="utf-8")

    def _fits(self, stamp: str, wanted: RetrievalSet) -> bool:
        made, wished = stamp.split(), self._stamp(wanted).split()
        return made[:-1] == wished[:-1] if self.trusting else made == wished

    def _stamp(self, wanted: RetrievalSet) -> str:
        """Return the documents, what made the vectors, and the code; a server refuses other vectors."""
        return f"{wanted.fingerprint} {self.provider}:{TEXT_RECIPE} {recipe()}\n"


def recipe() -> str:
    """Return a digest of everything that decides what is stored and embedded for a document."""
    digest = hashlib.sha256()
    places = ("ingestion/**/*.py", "adapters/local/nano.py", "domain/documents.py")
    for path in sorted(path for place in places for path in PACKAGE.glob(place)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
