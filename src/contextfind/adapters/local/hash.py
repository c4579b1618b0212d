"""Vectors without a model: hashed words. Deterministic, instant; for tests and trying things out."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from contextfind.adapters.local.words import WordTokenizer
from contextfind.domain.plain_text import plain_text
from contextfind.domain.records import Matrix, Vector
from contextfind.domain.scoring import Calibration
from contextfind.ports.models import Purpose

DIMENSION = 256
CALIBRATION = Calibration(floor=0.1, span=0.5)  # unrelated passages .08, right ones .3 to .65
MAX_CHARACTERS = 8_000
_CACHED_TERMS = 50_000
_TEXTS_AT_ONCE = 16  # a few ms, then the event loop has its turn


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
        self._tokenizer = WordTokenizer()
        self._place = lru_cache(_CACHED_TERMS)(self._place_slowly)

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
        rows = np.zeros((len(inputs), self._dimension), np.float32)
        for at, text in enumerate(inputs):
            if at % _TEXTS_AT_ONCE == 0:
                await asyncio.sleep(0)
            rows[at] = self._row(text)
        return rows

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def _row(self, text: str) -> Vector:
        row = np.zeros(self._dimension, np.float32)
        counts = Counter(self._tokenizer.terms(plain_text(text[:MAX_CHARACTERS])))
        for term, count in counts.items():
            place, sign = self._place(term)
            row[place] += sign * (1.0 + np.log(count))
        length = np.linalg.norm(row)
        if length == 0:
            row[0] = length = np.float32(1.0)
        return row / length

    def _place_slowly(self, term: str) -> tuple[int, float]:
        digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        return (number >> 1) % self._dimension, 1.0 if number & 1 else -1.0
