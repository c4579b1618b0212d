"""Vectors without a model: hashed words. Deterministic, instant; for tests and trying things out."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from contextfind.adapters.local.words import WordTokenizer
from contextfind.domain.plain_text import plain_text
from contextfind.domain.records import Matrix
from contextfind.domain.scoring import Calibration
from contextfind.ports.models import Purpose, Tokenizer

DIMENSION = 256
CALIBRATION = Calibration(floor=0.1, span=0.5)  # unrelated passages .08, right ones .3 to .65
MAX_CHARACTERS = 8_000
_CACHED_TERMS = 50_000
_TEXTS_AT_ONCE = 16  # half a millisecond on the event loop; more of them have a thread


class HashEmbedder:
    """The `Embedder` that only knows which words two texts share.

    Feature hashing (Weinberger et al. 2009): every term has a place and a sign, its weight is
    `1 + log(count)`. A text without words gets a fixed row. recipe: as in the other embedders.
    """

    def __init__(
        self, recipe: str, dimension: int = DIMENSION, calibration: Calibration = CALIBRATION
    ) -> None:
        self._dimension = dimension
        self._fingerprint = f"hash:words:{dimension}:{recipe}"
        self._calibration = calibration
        self._tokenizer: Tokenizer = WordTokenizer()
        self._places = _Places(dimension)

    @property
    def dimension(self) -> int:
        """As it was made."""
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """Provider, model, dimension and text recipe."""
        return self._fingerprint

    @property
    def accepts_images(self) -> bool:
        """It reads text only."""
        return False

    @property
    def calibration(self) -> Calibration:
        """What its cosines mean."""
        return self._calibration

    @property
    def max_characters(self) -> int:
        """Longer inputs are cut."""
        return MAX_CHARACTERS

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:  # noqa: ARG002
        """Return shape (len(inputs), dimension), rows of unit length, in order; never fails."""
        if len(inputs) <= _TEXTS_AT_ONCE:
            return self._rows(inputs)
        return await asyncio.to_thread(self._rows, inputs)

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def _rows(self, texts: Sequence[str]) -> Matrix:
        places: list[int] = []
        counts: list[int] = []
        sizes: list[int] = []
        for text in texts:
            bag = Counter(self._tokenizer.terms(plain_text(text[:MAX_CHARACTERS])))
            places.extend(map(self._places.__getitem__, bag))
            counts.extend(bag.values())
            sizes.append(len(bag))
        row_of = np.repeat(np.arange(len(texts)), np.array(sizes, np.intp))
        at = row_of * (2 * self._dimension) + np.array(places, np.intp)
        weights = 1.0 + np.log(np.array(counts, np.float64))
        size = len(texts) * 2 * self._dimension
        sums = np.bincount(at, weights, minlength=size).reshape(len(texts), 2, self._dimension)
        rows: Matrix = (sums[:, 0] - sums[:, 1]).astype(np.float32)
        rows[~rows.any(axis=1), 0] = 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


class _Places(dict[str, int]):
    """Where a term counts, by its hash: below `dimension` with a plus, from there on with a minus."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension

    def __missing__(self, term: str) -> int:
        digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        place = (number >> 1) % self._dimension + (0 if number & 1 else self._dimension)
        if len(self) >= _CACHED_TERMS:
            self.clear()
        self[term] = place
        return place
