"""From an `/embeddings` answer to a matrix that can be trusted."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.remote.failures import ProviderError
from contextfind.domain.records import Matrix


class Complaint(Protocol):
    """Makes the error of an answer that is of no use."""

    def __call__(self, reason: str, *, about_texts: bool = False) -> ProviderError:
        """Return it."""
        ...


def unit_rows(broken: Complaint, answer: object, count: int, dimension: int | None) -> Matrix:
    """Return shape (count, dimension), unit rows, ordered by the answer's `index`.

    dimension: longer vectors are cut to it and scaled anew (Matryoshka models keep the most telling
    numbers first); None takes them as they come.

    Raises:
        ProviderError: vectors missing, repeated, too short, of different lengths, zero or not finite.
            The last two may be due to one of the texts.

    """
    rows = _numbers(broken, _ordered(broken, answer, count))
    if dimension is not None:
        if rows.shape[1] < dimension:
            raise broken(f"gave vectors of {rows.shape[1]} numbers instead of {dimension}")
        rows = rows[:, :dimension]
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not np.all(np.isfinite(largest)):
        raise broken("gave a vector that is not finite", about_texts=True)
    if not np.all(largest > 0):
        raise broken("gave a vector of zeros", about_texts=True)
    rows = rows / largest  # else the squares of numbers that are very large or small are none
    unit: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _ordered(broken: Complaint, answer: object, count: int) -> Sequence[object]:
    data = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(data, list) or not all(isinstance(item, Mapping) for item in data):
        raise broken("gave an answer without `data`")
    if len(data) != count:
        raise broken(f"gave {len(data)} vectors for {count} texts")
    places = [item.get("index", at) for at, item in enumerate(data)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
        raise broken("gave vectors whose `index` does not fit the texts")
    by_place = dict(zip(places, data, strict=True))
    return [by_place[at].get("embedding") for at in range(count)]


def _numbers(broken: Complaint, vectors: Sequence[object]) -> NDArray[np.float64]:
    try:
        rows = np.array(vectors, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise broken("gave vectors that are no equally long lists of numbers") from error
    if rows.ndim != 2 or rows.shape[1] == 0:  # noqa: PLR2004 - rows of numbers
        raise broken("gave vectors that are no lists of numbers")
    return rows
