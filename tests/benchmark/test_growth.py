"""Several runs stand side by side, the smallest first; what a run left out stays empty."""

from tests.benchmark.growth import tables


def row(kind: str, p50: float) -> dict[str, object]:
    figures = {"ms_p50": p50, "ratio": p50 / 0.5, "cpu_ms": 1.5, "per_second": 1_234.4}
    return {"kind": kind, "concurrency": 8, **figures}


def test_runs_stand_side_by_side() -> None:
    small = {
        "documents": 1_000,
        "finds": [row("bare route", 0.5), row("plain", 1.0), row("subtree", 3.0)],
        "recall": {"plain": 1.0},
        "ingest": {"files_per_s": 312.5, "find_p95_ratio": 2.0, "health_p99_ms": 40.0},
    }
    large = {
        "documents": 10_000,
        "finds": [row("bare route", 0.5), row("plain", 2.0)],
        "recall": {"plain": 0.985},
    }
    lines = tables([large, small]).splitlines()
    assert lines[0].startswith("| 8 at once | 1,000: p50 ms | 1,000: x bare | 1,000: x plain |")
    assert (
        "| plain | 1.00 | 2.00 | 1.00 | 1.50 | 1,234 | 2.00 | 4.00 | 1.00 | 1.50 | 1,234 |" in lines
    )
    assert "| subtree | 3.00 | 6.00 | 3.00 | 1.50 | 1,234 |  |  |  |  |  |" in lines
    assert "| plain | 1.000 | 0.985 |" in lines
    assert "| ingest: files a second | 312.50 |  |" in lines


def test_a_run_without_finds_has_its_other_figures() -> None:
    told = tables([{"documents": 5, "finds": [], "memory": {"ratio": 1.01}}])
    assert "| memory after 20,000 finds over that after 2,000 | 1.01 |" in told
