"""The figures of an earlier run, query by query, and which set has fallen since."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from contextfind.answering.measures import Interval, interval_of

BASELINE = Path(__file__).with_name("baseline.json")


@dataclass(frozen=True, slots=True)
class Remembered:
    """One set at one time.

    fingerprint: of its documents, queries, judgements and embedder. ndcg: nDCG@10 per query in the order of the
    set, with three decimals, as one line of numbers: a diff shows which queries moved.
    """

    fingerprint: str
    date: str
    machine: str
    ndcg10: float
    recall10: float
    mrr10: float
    ndcg: str

    @property
    def values(self) -> list[float]:
        """nDCG@10 per query."""
        return [float(word) for word in self.ndcg.split()]


def packed(values: Sequence[float]) -> str:
    """Return values per query as `Remembered.ndcg` holds them."""
    return " ".join(f"{value:.3f}".rstrip("0").rstrip(".") for value in values)


def read_baseline(path: Path) -> dict[str, Remembered]:
    """Return the sets of a baseline by name; none when there is no such file."""
    if not path.exists():
        return {}
    held = json.loads(path.read_text(encoding="utf-8"))
    return {name: Remembered(**fields) for name, fields in held.items()}


def write_baseline(path: Path, found: Mapping[str, Remembered]) -> None:
    """Replace the sets that were measured; the others stay."""
    merged = {**read_baseline(path), **found}
    fields = {name: asdict(merged[name]) for name in sorted(merged)}
    path.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a set; change: of nDCG@10 per query, None where there is nothing to compare."""

    line: str
    change: Interval | None = None

    @property
    def fell(self) -> bool:
        """Whether even the upper end of the interval lies below 0."""
        return self.change is not None and self.change.high < 0


def verdict_on(
    name: str, fingerprint: str, ndcg: Sequence[float], known: Mapping[str, Remembered]
) -> Verdict:
    """Compare a set with the baseline; `ndcg` may be of its first queries only."""
    before = known.get(name)
    if before is None:
        return Verdict(f"{name}: not in the baseline, nothing to compare with")
    if before.fingerprint != fingerprint:
        return Verdict(
            f"{name}: its files or its embedder are not those of the baseline, nothing to compare with"
        )
    now = [float(word) for word in packed(ndcg).split()]  # rounded as those of the baseline
    change = interval_of([new - old for new, old in zip(now, before.values, strict=False)])
    verdict = Verdict("", change)
    word = "FELL" if verdict.fell else "stands"
    moved = sum(new != old for new, old in zip(now, before.values, strict=False))
    return Verdict(
        f"{name}: {word}; nDCG@10 against {before.date}: {change.signed}, {moved} queries moved",
        change,
    )
