"""How hits were found, as `include_provenance` shows it."""

from collections.abc import Sequence

from contextfind.domain.records import Level, shown_address
from contextfind.domain.results import MatchedContext, QueryResult, ScoreParts, Step, Trace

_DIGITS = 4  # of the parts of a score; the rest is noise


def provenance_of(results: Sequence[QueryResult]) -> list[dict[str, object]]:
    """Return one object per query: what it was, where was looked, what fitted, and the walk."""
    return [
        {
            "query": result.query.query,
            "searched_directories": [uri.text for uri in result.searched_directories],
            "matched_contexts": [_match(hit) for hit in result.matched_contexts],
            "thinking_trace": _trace(result.trace),
        }
        for result in results
    ]


def _match(hit: MatchedContext) -> dict[str, object]:
    return {
        "uri": shown_address(hit.uri, hit.level),
        "tier": f"L{hit.level.value}",
        "context_type": hit.context_type.value,
        "score": float(hit.score),
        "match_reason": hit.match_reason,
    }


def _trace(trace: Trace) -> dict[str, object]:
    opened = sum(step.event == "open" for step in trace.steps)
    kept = sum(step.event == "keep" for step in trace.steps)
    return {
        "index_plans": list(trace.plans),
        "formulas": list(trace.formulas),
        "events": [_event(step) for step in trace.steps],
        "statistics": {
            "total_events": len(trace.steps),
            "directories_searched": opened,
            "candidates_collected": trace.candidates,
            "candidates_excluded": trace.candidates - kept,
            "convergence_rounds": trace.rounds,
        },
    }


def _event(step: Step) -> dict[str, object]:
    level = Level.DETAIL if step.level is None else step.level  # an opened directory is itself
    return {
        "event": step.event,
        "uri": None if step.uri is None else shown_address(step.uri, level),
        "score": None if step.score is None else float(step.score),
        "reason": step.reason,
        "round": step.round,
        "rule": step.rule or None,
        "parts": None if step.parts is None else _parts(step.parts),
    }


def _parts(parts: ScoreParts) -> dict[str, object]:
    return {
        "own": _short(parts.own),
        "meaning": _short(parts.meaning),
        "words": _short(parts.words),
        "evidence": _short(parts.evidence),
        "witness": None if parts.witness is None else parts.witness.text,
        "reranked": _short(parts.reranked),
        "hotness": _short(parts.hotness),
    }


def _short(score: float | None) -> float | None:
    return None if score is None else round(float(score), _DIGITS)
