"""Vectors that were computed once: an embedder in front of which a file remembers."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from contextfind.domain.records import Matrix
from contextfind.domain.scoring import Calibration
from contextfind.ports import Embedder
from contextfind.ports.models import Purpose


class RememberingEmbedder:
    """An `Embedder` that asks another one only for texts it has not seen, in this run or an earlier one.

    The file belongs to the other one's fingerprint. asked: texts that the other one had to embed.
    """

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self._inner = inner
        self.asked = 0
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(inner.fingerprint.encode()).hexdigest()[:12]
        self._file = sqlite3.connect(folder / f"vectors-{name}.db")
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, row BLOB)")

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def accepts_images(self) -> bool:
        return False

    @property
    def calibration(self) -> Calibration:
        return self._inner.calibration

    @property
    def max_characters(self) -> int:
        return self._inner.max_characters

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        keys = [_key(text, purpose) for text in inputs]
        missing = {key: text for key, text in zip(keys, inputs, strict=True) if not self._row(key)}
        if missing:
            rows = await self._inner.embed(list(missing.values()), purpose)
            self.asked += len(missing)
            self._keep([(key, row.tobytes()) for key, row in zip(missing, rows, strict=True)])
        held = [np.frombuffer(self._row(key) or b"", np.float32) for key in keys]
        return np.array(held, np.float32).reshape(len(inputs), self.dimension)

    async def aclose(self) -> None:
        self._file.close()

    def absorb(self, database: Path) -> int:
        """Take over the vectors of a data directory that the same embedder made; return how many."""
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as other:
            made = other.execute(
                "SELECT value FROM meta WHERE key = 'embedder_fingerprint'"
            ).fetchone()
            if made != (self.fingerprint,):
                return 0
            # A passage's digest is made of its text just like a key of ours.
            rows = other.execute("SELECT digest, vector FROM vectors").fetchall()
        other.close()
        self._keep([(f"document {digest}", row) for digest, row in rows])
        return len(rows)

    def _row(self, key: str) -> bytes | None:
        found = self._file.execute("SELECT row FROM vectors WHERE key = ?", (key,)).fetchone()
        return None if found is None else found[0]

    def _keep(self, rows: Sequence[tuple[str, bytes]]) -> None:
        with self._file:
            self._file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)


def _key(text: str, purpose: Purpose) -> str:
    return f"{purpose} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
