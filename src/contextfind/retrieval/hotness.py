"""How often and how lately a hit is used, blended into its score before the best are cut off."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from contextfind.domain.records import Record, shown_address
from contextfind.domain.scoring import HotnessRules
from contextfind.ports import Clock, RecordStore
from contextfind.retrieval.frontier import Scored


@dataclass(frozen=True, slots=True)
class Stove:
    """Where hits are warmed; a house in which hotness does not count (share 0) has none."""

    store: RecordStore
    clock: Clock
    rules: HotnessRules

    async def warm(self, pool: Sequence[Scored], digits: int) -> Sequence[Scored]:
        """Return the pool in its new order, best first, ties by address; one read of the store.

        digits: of a score as it is shown. A record deleted a moment ago is cold.
        """
        now = self.clock()
        records = await self.store.get([scored.hit.id for scored in pool])
        warmed = [
            self._warmed(scored, record, now, digits)
            for scored, record in zip(pool, records, strict=True)
        ]
        return sorted(warmed, key=lambda s: (-s.score, shown_address(s.hit.uri, s.hit.level)))

    def _warmed(self, scored: Scored, record: Record | None, now: datetime, digits: int) -> Scored:
        hotness = 0.0
        if record is not None:
            hotness = self.rules.hotness(record.active_count, record.updated_at, now)
        score = round(self.rules.blend(scored.semantic, hotness), digits)
        return replace(scored, score=score, hotness=hotness)
