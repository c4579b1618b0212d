"""What an agent asks for, after validation, and what it is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from contextfind.answering.assembly.categories import PENALTIES, PURPOSES
from contextfind.answering.assembly.filling import Filled
from contextfind.answering.assembly.rewriting import Rewritten
from contextfind.answering.assembly.tiers import Tier
from contextfind.domain.queries import FindQuestion
from contextfind.domain.uri import Uri

DEFAULT_TOKENS = 1_600
MOST_TOKENS = 128_000
DEFAULT_BULLETS = 6


class Rewriting(StrEnum):
    """Whether a language model makes a digest; AUTO: where there is one."""

    OFF = "off"
    AUTO = "auto"
    ON = "on"


@dataclass(frozen=True, slots=True)
class ContextQuestion:
    """One context to be assembled; every default lives here.

    find: what is looked for, where, and under which conditions; its limit counts without quotas.
    quotas: entries of each category; None takes those of the purpose, and without one there are none.
    detail: for every category, or for each by its name: shown at this tier, or lower where it does not
        fit. What is not named goes as deep as the budget allows.
    dedup_turns: of the session, whose entries are not shown again. exclude: with all that lies below.
    actor: the peer on whose behalf is asked. all_peers: whether what others left is shown too.
    expand: whether the session's last messages may add queries.
    """

    find: FindQuestion
    session_id: str = ""
    max_tokens: int = DEFAULT_TOKENS
    quotas: Mapping[str, int] | None = None
    purpose: str | None = None
    detail: Tier | Mapping[str, Tier] | None = None
    dedup_turns: int = 0
    exclude: Sequence[Uri] = ()
    actor: str = ""
    all_peers: bool = True
    penalties: Mapping[str, float] = field(default_factory=lambda: PENALTIES)
    expand: bool = True
    rewrite: Rewriting = Rewriting.OFF
    bullets: int = DEFAULT_BULLETS

    @property
    def shares(self) -> Mapping[str, int] | None:
        """Entries of each category, None where all are on one list."""
        if self.quotas is not None:
            return self.quotas
        return PURPOSES.get(self.purpose or "")

    def pinned(self, category: str) -> Tier | None:
        """Return the tier that the caller wants for a category."""
        if isinstance(self.detail, Mapping):
            return self.detail.get(category)
        return self.detail


@dataclass(frozen=True, slots=True)
class Dedup:
    """What the session's ledger did: off, ok, or no_session; addresses that cooled; which turn this is."""

    status: str
    cooled: int = 0
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Assembled:
    """A context and how it came about.

    searched: hits looked at, by category, or under `all`. candidates: entries that had a place.
    excluded: addresses kept out because they were named, or shown lately. deduped: hits that were one
    entry with another. cap: tokens that one entry may cost before the rest is shared out.
    expansion: `used`, `off`, `none` (nothing was added), `nothing` (there is nothing to look up).
    block: what goes into the prompt. rewritten: the digest, and what became of it.
    """

    filled: Filled
    block: str
    searched: Mapping[str, int]
    candidates: int
    excluded: int
    deduped: int
    cap: int
    shares: Mapping[str, int] | None
    expansion: str
    queries: Sequence[str]
    rewritten: Rewritten
    dedup: Dedup
    notes: Sequence[str] = ()
    unknown_targets: Sequence[Uri] = ()
    words_only: bool = False
