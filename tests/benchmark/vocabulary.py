"""Made-up words that are used as real ones are: a few often, most of them hardly ever.

The n-th word is used in proportion to `1 / (n + OFFSET)` (Zipf-Mandelbrot), because function words,
which lead any real list, are no terms of the word index: what is left at the top stands in some 12 %
of the passages of 80 words. The more text, the more different words (Heaps).
"""

import asyncio
import math

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.local.hash import HashEmbedder

Ranks = NDArray[np.int64]  # words by how often they are used, 0 the most
Floats = NDArray[np.float32]

OFFSET = 60
HEAPS_FACTOR, HEAPS_POWER = 30, 0.5  # of English text: 10 to 100, and .4 to .6
FEWEST = 2_000  # words, however little text
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SYLLABLES = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
_FEWEST_SYLLABLES = 3  # two make English words, function words among them
_STRIDE = 7_919  # a prime: neighbours in rank look nothing alike
_WORDS_AT_ONCE = 4_096  # rows of the embedder's answer held at a time


class Vocabulary:
    """The words of a text of `tokens` words, and where the hash embedder puts each of them."""

    def __init__(self, tokens: int, dimension: int) -> None:
        self.dimension = dimension
        self.words = np.array(_spellings(heaps(tokens)), dtype=object)
        weights = 1.0 / (np.arange(len(self.words)) + 1.0 + OFFSET)
        self._cumulative = np.cumsum(weights) / weights.sum()
        self._places, self._signs = asyncio.run(_hashed(self.words.tolist(), dimension))

    def __len__(self) -> int:
        return len(self.words)

    def draw(self, chances: NDArray[np.float64]) -> Ranks:
        """Return a rank for each number of [0, 1), of the same shape."""
        return np.minimum(np.searchsorted(self._cumulative, chances, "right"), len(self) - 1)

    def embedded(self, ranks: Ranks) -> Floats:
        """Return what the hash embedder makes of each row of words; shape (rows, dimension), unit length."""
        texts = len(ranks)
        keys = np.arange(texts)[:, None] * len(self) + ranks
        found, counts = np.unique(keys, return_counts=True)
        text, word = np.divmod(found, len(self))
        rows = np.bincount(
            text * self.dimension + self._places[word],
            weights=self._signs[word] * (1.0 + np.log(counts)),
            minlength=texts * self.dimension,
        )
        return unit(rows.reshape(texts, self.dimension).astype(np.float32))


def heaps(tokens: int) -> int:
    """Return how many different words a text of so many has."""
    return max(FEWEST, round(HEAPS_FACTOR * math.pow(tokens, HEAPS_POWER)))


def unit(rows: Floats) -> Floats:
    """Return the rows at unit length."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def _spellings(count: int) -> list[str]:
    base = len(_SYLLABLES)
    length = max(_FEWEST_SYLLABLES, math.ceil(math.log(count, base)))
    return [_spelling(rank * _STRIDE % base**length, length) for rank in range(count)]


def _spelling(number: int, length: int) -> str:
    syllables = []
    for _ in range(length):
        number, digit = divmod(number, len(_SYLLABLES))
        syllables.append(_SYLLABLES[digit])
    return "".join(syllables)


async def _hashed(words: list[str], dimension: int) -> tuple[Ranks, NDArray[np.float64]]:
    """Return the place and the sign of every word."""
    embedder = HashEmbedder("", dimension)
    places, signs = [], []
    for start in range(0, len(words), _WORDS_AT_ONCE):
        rows = await embedder.embed(words[start : start + _WORDS_AT_ONCE], "document")
        place = np.abs(rows).argmax(axis=1)
        places.append(place)
        signs.append(rows[np.arange(len(rows)), place].astype(np.float64))
    return np.concatenate(places), np.concatenate(signs)
