"""Which tier each entry gets, so that all of them together stay within the budget.

1. The floor: best first, everybody gets its abstract, or its address alone where that does not fit.
2. Best first, overviews; then best first, whole texts. None may cost more than twice its equal share.
3. What is left goes to the best again, without that limit.

So nobody gets more than its abstract before everybody had its turn. What does not fit is never cut:
it stays a tier lower. Pure; the same offers give the same tiers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from contextfind.answering.assembly.rendering import JOINT, block
from contextfind.answering.assembly.tiers import ORDER, Offer, Shown, Tier
from contextfind.domain.tokens import BYTES

_SHARE = 2  # times an equal share: the first ones may be longer, and one alone never takes all


@dataclass(frozen=True, slots=True)
class Filled:
    """The entries that fit, best first, and how the budget was spent, in tokens and in steps up."""

    entries: Sequence[Shown]
    tokens: int
    floor_tokens: int
    overview_upgrades: int
    full_upgrades: int
    spare_upgrades: int


def cap_of(tokens: int, entries: int) -> int:
    """Return how many tokens one entry may cost before the rest is shared out."""
    return _SHARE * tokens // max(entries, 1)


def filled(offers: Sequence[Offer], tokens: int) -> Filled:
    """Return as much of the offers as the budget holds; the block of them costs at most `tokens`."""
    room = _Room(offers, BYTES * tokens)
    cap = BYTES * cap_of(tokens, len(offers))
    for at in range(len(offers)):
        if not room.raise_to(at, Tier.ABSTRACT):
            room.raise_to(at, Tier.URI)
    floor = room.spent
    overviews = sum(room.raise_to(at, Tier.OVERVIEW, cap) for at in room.inside())
    wholes = sum(room.raise_to(at, Tier.FULL, cap) for at in room.inside())
    spare = 0
    while raised := room.raise_all():  # an overview may be shorter than its abstract, and make room
        spare += raised
    return Filled(
        room.entries(), -(-room.spent // BYTES), -(-floor // BYTES), overviews, wholes, spare
    )


@dataclass
class _Room:
    """The bytes of the block so far, and the tier of each entry that is in it."""

    offers: Sequence[Offer]
    size: int
    spent: int = 0
    tiers: dict[int, Tier] = field(default_factory=dict)
    costs: dict[tuple[int, Tier], int] = field(default_factory=dict)

    def raise_to(self, at: int, tier: Tier, cap: int | None = None) -> bool:
        """Show more of an entry, if it has that much, it fits, and the entry stays within `cap` bytes."""
        now = self.tiers.get(at)
        offer = self.offers[at]
        if tier is not Tier.URI and tier not in offer.texts:
            return False
        if now is not None and ORDER.index(now) >= ORDER.index(tier):
            return False
        cost = self._cost(at, tier)
        before = self._cost(at, now) if now is not None else -self._joint()
        if self.spent + cost - before > self.size or (cap is not None and cost > cap):
            return False
        self.spent += cost - before
        self.tiers[at] = tier
        return True

    def raise_all(self) -> int:
        """Show more of whatever fits, best first; return how many entries rose."""
        return sum(
            self.raise_to(at, Tier.FULL) or self.raise_to(at, Tier.OVERVIEW) for at in self.inside()
        )

    def inside(self) -> list[int]:
        """Return the places of the entries in the block, best first."""
        return sorted(self.tiers)

    def entries(self) -> list[Shown]:
        """Return them as they are shown."""
        return [
            Shown(self.offers[at].head, tier, self.offers[at].texts.get(tier, ""))
            for at, tier in sorted(self.tiers.items())
        ]

    def _joint(self) -> int:
        return len(JOINT) if self.tiers else 0

    def _cost(self, at: int, tier: Tier) -> int:
        """Return the bytes of an element; measured once, for texts may be long."""
        if (at, tier) not in self.costs:
            offer = self.offers[at]
            text = block(offer.head, tier, offer.texts.get(tier, ""))
            self.costs[at, tier] = len(text.encode("utf-8", "surrogatepass"))
        return self.costs[at, tier]
