"""Figures of many variants as Markdown, and what choosing a constant without a set costs on that set."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from contextfind.answering.measures import Quality, interval_of
from tests.benchmark.variants import FULL, Constant, Variant

Figures = dict[Variant, dict[str, list[Quality]]]  # by `Variant.key`, then by set


def ablation_table(variants: Sequence[Variant], figures: Figures, sets: Sequence[str]) -> str:
    """Return a row per variant: nDCG@10 of the full one, differences to it (paired, 95 %) of the others."""
    lines = [_row("nDCG@10", *sets, "mean"), _rule(len(sets) + 2)]
    for variant in variants:
        held = figures[variant.key]
        if variant == FULL:
            cells = [str(interval_of(_ndcg(held[name]))) for name in sets]
            mean = f"{_mean(held, sets):.3f}"
        else:
            full = figures[FULL.key]
            cells = [_difference(held[name], full[name]) for name in sets]
            mean = f"{_mean(held, sets) - _mean(full, sets):+.3f}"
        lines.append(_row(variant.name, *cells, mean))
    return "\n".join(lines) + "\n"


def sweep_tables(swept: Sequence[Constant], figures: Figures, sets: Sequence[str]) -> str:
    """Return a table per constant, and one of how each would have been chosen without each set."""
    parts = [_sweep_table(constant, figures, sets) for constant in swept]
    heads = ("constant", "default", "its mean", "best in sample", "its mean", "left out, mean")
    lines = [_row(*heads, "chosen without each set"), _rule(7)]
    lines += [_left_out_row(constant, figures, sets) for constant in swept]
    return "\n".join([*parts, "\n".join(lines) + "\n"])


def left_out(
    means: Mapping[str, Mapping[str, float]], sets: Sequence[str], usual: str
) -> dict[str, str]:
    """Return for each set the value that is best on the mean of the others; means: by value, then by set."""
    chosen: dict[str, str] = {}
    for name in sets:
        others = [one for one in sets if one != name] or list(sets)
        overall = {value: fmean(means[value][one] for one in others) for value in means}
        chosen[name] = _best(overall, usual)
    return chosen


def _best(overall: Mapping[str, float], usual: str) -> str:
    """Return the value with the best mean, the default where it is as good."""
    return max(overall, key=lambda value: (round(overall[value], 4), value == usual))


def _sweep_table(constant: Constant, figures: Figures, sets: Sequence[str]) -> str:
    lines = [_row(constant.name, *sets, "mean"), _rule(len(sets) + 2)]
    for value, variant in constant.values.items():
        held = figures[variant.key]
        cells = [f"{fmean(_ndcg(held[name])):.3f}" for name in sets]
        shown = f"**{value}**" if value == constant.usual else value
        lines.append(_row(shown, *cells, f"{_mean(held, sets):.4f}"))
    return "\n".join(lines) + "\n"


def _left_out_row(constant: Constant, figures: Figures, sets: Sequence[str]) -> str:
    means = {
        value: {name: fmean(_ndcg(figures[variant.key][name])) for name in sets}
        for value, variant in constant.values.items()
    }
    overall = {value: fmean(per_set.values()) for value, per_set in means.items()}
    best = _best(overall, constant.usual)
    chosen = left_out(means, sets, constant.usual)
    figure = fmean(means[chosen[name]][name] for name in sets)
    return _row(
        constant.name,
        constant.usual,
        f"{overall[constant.usual]:.4f}",
        best,
        f"{overall[best]:.4f}",
        f"{figure:.4f}",
        ", ".join(f"{name} {value}" for name, value in chosen.items()),
    )


def _difference(judged: Sequence[Quality], full: Sequence[Quality]) -> str:
    pairs = zip(judged, full, strict=True)
    return interval_of([one.ndcg - other.ndcg for one, other in pairs]).signed


def _mean(held: Mapping[str, Sequence[Quality]], sets: Sequence[str]) -> float:
    return fmean(fmean(_ndcg(held[name])) for name in sets)


def _ndcg(judged: Sequence[Quality]) -> list[float]:
    return [one.ndcg for one in judged]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _rule(columns: int) -> str:
    return "|---" * columns + "|"
