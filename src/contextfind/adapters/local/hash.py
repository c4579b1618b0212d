"""Vectors without a model: hashed words. Deterministic, instant; for tests and trying things out."""

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

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
_COMMON_COUNTS = tuple(1.0 + math.log(count) for count in range(1, 65))


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
        if len(inputs) <= _TEXTS_AT_ONCE:
            return self._rows(inputs)
        return await asyncio.to_thread(self._rows, inputs)

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def _rows(self, texts: Sequence[str]) -> Matrix:
        places: list[int] = []
        weights: list[float] = []
        for start in range(0, len(texts) * self._dimension, self._dimension):
            text = plain_text(texts[start // self._dimension][:MAX_CHARACTERS])
            for term, count in Counter(self._tokenizer.terms(text)).items():
                place, sign = self._place(term)
                places.append(start + place)
                weights.append(sign * _weight(count))
        size = len(texts) * self._dimension
        sums = np.bincount(np.array(places, np.intp), weights, minlength=size)
        rows: Matrix = sums.reshape(len(texts), self._dimension).astype(np.float32)
        rows[~rows.any(axis=1), 0] = 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def _place_slowly(self, term: str) -> tuple[int, float]:
        digest = hashlib.blake2b(term.encode(), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        return (number >> 1) % self._dimension, 1.0 if number & 1 else -1.0


def _weight(count: int) -> float:
    return _COMMON_COUNTS[count - 1] if count <= len(_COMMON_COUNTS) else 1.0 + math.log(count)
