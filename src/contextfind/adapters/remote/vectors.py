"""From an `/embeddings` answer to a matrix that can be trusted."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from contextfind.adapters.remote.failures import ProviderError
from contextfind.domain.records import Matrix


def unit_rows(provider: str, answer: object, count: int, dimension: int | None) -> Matrix:
    """Return shape (count, dimension), unit rows, ordered by the answer's `index`.

    dimension: longer vectors are cut to it and scaled anew (Matryoshka models keep the most telling
    numbers first); None takes them as they come.

    Raises:
        ProviderError: vectors missing, repeated, too short, of different lengths, zero or not finite.

    """
    rows = _numbers(provider, _ordered(provider, answer, count))
    if dimension is not None:
        if rows.shape[1] < dimension:
            raise _broken(provider, f"vectors of {rows.shape[1]} numbers instead of {dimension}")
        rows = rows[:, :dimension]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)):
        raise _broken(provider, "a vector that is not finite")
    if not np.all(lengths > 0):
        raise _broken(provider, "a vector of zeros")
    unit: Matrix = (rows / lengths).astype(np.float32)
    return unit


def _ordered(provider: str, answer: object, count: int) -> Sequence[object]:
    data = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(data, list) or not all(isinstance(item, Mapping) for item in data):
        raise _broken(provider, "an answer without `data`")
    if len(data) != count:
        raise _broken(provider, f"{len(data)} vectors for {count} texts")
    places = [item.get("index", at) for at, item in enumerate(data)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
        raise _broken(provider, "vectors whose `index` does not fit the texts")
    by_place = dict(zip(places, data, strict=True))
    return [by_place[at].get("embedding") for at in range(count)]


def _numbers(provider: str, vectors: Sequence[object]) -> NDArray[np.float64]:
    try:
        rows = np.array(vectors, np.float64)
    except (TypeError, ValueError) as error:
        raise _broken(provider, "vectors that are no equally long lists of numbers") from error
    if rows.ndim != 2 or rows.shape[1] == 0:  # noqa: PLR2004 - rows of numbers
        raise _broken(provider, "vectors that are no lists of numbers")
    return rows


def _broken(provider: str, what: str) -> ProviderError:
    return ProviderError(provider, f"gave {what}", transient=False)
