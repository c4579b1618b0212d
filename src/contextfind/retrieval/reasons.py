"""Why a hit is here, in words."""

from collections.abc import Sequence

from contextfind.domain.records import Level, shown_address
from contextfind.ports import Tokenizer
from contextfind.retrieval.duplicates import Chosen
from contextfind.retrieval.echoes import Echoes
from contextfind.retrieval.frontier import Scored
from contextfind.retrieval.judging import Judge

_MAX_WORDS = 5  # named in a reason, in the order of the query
_MAX_TWINS = 3  # named in a reason, best first


class ReasonWriter:
    """Writes `section 'Rollback', words: rollback, canary, meaning 0.86`, and where the same text is."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def write(self, hits: Sequence[Chosen], query: str, judge: Judge) -> Sequence[str]:
        """Return one reason per hit, in order."""
        echoes = Echoes(query, self._tokenizer)
        return [
            _reason(hit, echoes.within(hit.scored.hit.shared)[:_MAX_WORDS], judge) for hit in hits
        ]


def _reason(chosen: Chosen, words: Sequence[str], judge: Judge) -> str:
    scored, passage = chosen.scored, chosen.passage
    parts: list[str] = []
    if passage is not None and passage.heading:
        parts.append(f"section '{passage.heading}'")
    if words:
        parts.append(f"words: {', '.join(words)}")
    meaning = judge.meaning(scored.hit)
    if meaning is not None:
        parts.append(f"meaning {meaning:.2f}")
    if scored.score > scored.own:
        is_file = scored.hit.level is Level.DETAIL
        parts.append("its directory matches" if is_file else "files below it match")
    if chosen.twins:
        parts.append(_elsewhere(chosen.twins))
    return ", ".join(parts) or "near the question"


def _elsewhere(twins: Sequence[Scored]) -> str:
    places = "place" if len(twins) == 1 else "places"
    named = [shown_address(twin.hit.uri, twin.hit.level) for twin in twins[:_MAX_TWINS]]
    more = ", …" if len(twins) > _MAX_TWINS else ""
    return f"same text in {len(twins)} other {places}: {', '.join(named)}{more}"
