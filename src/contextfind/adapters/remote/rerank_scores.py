"""What a reranker's numbers mean: whose they are, and how raw ones become shares of 1.

Some models answer with probabilities, some with logits from -12 to 12, some with per cent. The
logistic function keeps the order of all of them and turns a logit into the probability it stands for.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

_ROUNDING = 1e-6  # of 32 bits: a probability may come as 1.0000001
_STEEP = (
    16.0  # from here on 1 - logistic(x) is below 2e-7, and soon below what a double can tell apart
)


def scores_by_index(judgements: Iterable[tuple[object, object]], count: int) -> dict[int, float]:
    """Return index -> score for the indexes below `count`; of repeated ones the first counts.

    Numbers may come as text. What is no number at all is left out; NaN and infinite ones are kept.
    """
    scores: dict[int, float] = {}
    for place, said in judgements:
        index, score = _number(place), _number(said)
        if index is None or score is None or not index.is_integer():
            continue
        if 0 <= index < count:
            scores.setdefault(int(index), score)
    return scores


def is_raw(scores: Iterable[float]) -> bool:
    """Return whether a finite one of the scores cannot be a share of 1."""
    return any(
        math.isfinite(score) and not -_ROUNDING <= score <= 1 + _ROUNDING for score in scores
    )


def shares(scores: Mapping[str, float], *, raw: bool) -> dict[str, float]:
    """Return the scores in [0, 1], their order kept; NaN and infinite ones, which say nothing, are 0."""
    return {
        text: 0.0
        if not math.isfinite(score)
        else share(score)
        if raw
        else min(max(score, 0.0), 1.0)
        for text, score in scores.items()
    }


def share(score: float) -> float:
    """Return the logistic function of a finite score: 0.5 for 0, rising, within [0, 1].

    Beyond 16 it goes on as a hyperbola, so that 87 and 93 per cent stay different numbers.
    """
    size = abs(score)
    rest = 1 / (1 + math.exp(size)) if size <= _STEEP else _STEEP / size / (1 + math.exp(_STEEP))
    return rest if score < 0 else 1 - rest


def usable(scores: Sequence[float]) -> bool:
    """Return whether at least one score is a finite number."""
    return any(math.isfinite(score) for score in scores)


def _number(said: object) -> float | None:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    try:
        return float(said)
    except (ValueError, OverflowError):
        return None
