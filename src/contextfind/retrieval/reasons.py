"""Why a hit is here, in words."""

from collections.abc import Sequence

from contextfind.domain.records import Level, Passage
from contextfind.ports import RecordStore, Tokenizer
from contextfind.retrieval.echoes import Echoes
from contextfind.retrieval.frontier import Scored
from contextfind.retrieval.judging import Judge

_MAX_WORDS = 5  # named in a reason, in the order of the query


class ReasonWriter:
    """Writes `section 'Rollback', words: rollback, canary, meaning 0.86`."""

    def __init__(self, store: RecordStore, tokenizer: Tokenizer) -> None:
        self._store = store
        self._tokenizer = tokenizer

    async def write(self, hits: Sequence[Scored], query: str, judge: Judge) -> Sequence[str]:
        """Return one reason per hit, in order; one read for all of them."""
        passages = await self._store.passages([(s.hit.id, s.hit.passage) for s in hits])
        echoes = Echoes(query, self._tokenizer)
        return [
            self._reason(scored, passage, echoes, judge)
            for scored, passage in zip(hits, passages, strict=True)
        ]

    def _reason(self, scored: Scored, passage: Passage | None, echoes: Echoes, judge: Judge) -> str:
        parts: list[str] = []
        if passage is not None and passage.heading:
            parts.append(f"section '{passage.heading}'")
        if passage is not None and scored.hit.words > 0:
            present = set(self._tokenizer.terms(passage.indexed_text))
            shared = echoes.within(present)[:_MAX_WORDS]
            if shared:
                parts.append(f"words: {', '.join(shared)}")
        meaning = judge.meaning(scored.hit)
        if meaning is not None:
            parts.append(f"meaning {meaning:.2f}")
        if scored.score > scored.own:
            is_file = scored.hit.level is Level.DETAIL
            parts.append("its directory matches" if is_file else "files below it match")
        return ", ".join(parts) or "near the question"
