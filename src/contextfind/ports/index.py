"""Search over passages by meaning and by words; the one door for a search engine."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filters import Filter
from contextfind.domain.records import RecordId, Vector
from contextfind.domain.scope import Scope
from contextfind.ports.hits import Hit, Hits
from contextfind.ports.store import Change

__all__ = [
    "SUPPORTERS",
    "ChangeLog",
    "Dialogue",
    "Hit",
    "Hits",
    "Probe",
    "RebuildableIndex",
    "SearchIndex",
    "Step",
    "conversed",
    "handed_over",
]

Result = TypeVar("Result")
# Questions of which each depends on the answers before: yields probes, is sent their hits, returns what came of it.
Dialogue = Generator[Sequence["Probe"], Sequence[Hits], Result]

SUPPORTERS = 4  # passages of a record whose cosines count together; 3 to 8 measured alike


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to the index: the best `limit` records by meaning and the best by words.

    scope: whose records; applied apart from `where` and before everything else.
    where: only records that match may be returned, and all of them are candidates. It holds no
        `store_conditions`: those are resolved to the ids that satisfy them first.
    limit: how many records each channel may put forward, at least 1.
    vector: shape (dimension,), float32, unit length; None asks by words alone.
    terms: tokens of the query in reading order; repeats weigh nothing; empty asks by meaning alone.
    """

    scope: Scope
    where: Filter
    limit: int
    vector: Vector | None
    terms: tuple[str, ...] = ()


class SearchIndex(Protocol):
    """A follower of the store's log that answers probes.

    It holds nothing that the store cannot give again: throwing an index away and following
    the log from 0 gives the same answers.
    """

    async def search(self, probes: Sequence[Probe]) -> Sequence[Hits]:
        """Answer each probe, in order, all against one state; one round trip for all of them.

        The hits of a probe are the union of the best `limit` records by cosine and the best `limit`
        by words (only those with words > 0), each record once, in tree order: by
        (folder of the parent, name, level). Ties at the cut go to the earlier one in tree order.
        A probe with neither vector nor terms finds nothing.

        Raises:
            InvalidArgumentError: a vector of another dimension, or one that is not finite; or a filter
                that asks for what only the store knows.
            UnavailableError: the engine cannot be reached.

        """
        ...

    async def converse(self, dialogue: Dialogue[Result]) -> Result:
        """Lead a dialogue to its end, all of it against one state; in a thread of the engine's own where it has some.

        So what the dialogue does between its questions must not wait for anything, and touch only what is its own.

        Raises:
            InvalidArgumentError, UnavailableError: as for `search`. What the dialogue raises comes out as it is.

        """
        ...

    async def explain(self, probes: Sequence[Probe]) -> Sequence[str]:
        """Return per probe one line of how it is answered: scanned, through a graph, by words alone.

        For people who ask why; it costs another search, and a search itself notes nothing for it.
        Figures count only what the probe may return, so nothing of others shows.

        Raises:
            InvalidArgumentError, UnavailableError: as for `search`.

        """
        ...

    async def position(self) -> int:
        """Return the log position up to which this index is current."""
        ...

    async def follow(self, changes: Sequence[Change]) -> None:
        """Apply changes in order and advance `position`; repeating them is harmless."""
        ...

    async def aclose(self) -> None:
        """Make what was followed durable and let go of threads, files and sockets."""
        ...


class ChangeLog(Protocol):
    """A store's log, as `RecordStore.changes` gives it."""

    async def __call__(self, after: int, limit: int) -> Sequence[Change]:
        """Return at most `limit` entries after a position."""
        ...


class Step(Protocol):
    """Told how far work has come; it may take its time, and the work waits."""

    async def __call__(self, position: int) -> None:
        """Hear the position that was reached."""
        ...


class RebuildableIndex(SearchIndex, Protocol):
    """An index that can be thrown away while it answers."""

    async def rebuild(self, log: ChangeLog, step: Step) -> Sequence[RecordId]:
        """Build it anew from the beginning of the log, beside itself; searches see the old one or the new one.

        Returns the records whose vectors are damaged: those are found by words only. The new one takes its place when it knows all that the old one does, and is as fast. Cancelled or failed,
        the old one stays. A second caller waits for the first, and has it built again.

        Raises:
            UnavailableError: the log or the disk does not answer.

        """
        ...


async def handed_over(index: SearchIndex, changes: Sequence[Change]) -> Sequence[RecordId]:
    """Have changes followed; return the records whose vectors were refused, and which were followed without."""
    try:
        await index.follow(changes)
    except InvalidArgumentError:  # nothing of it was taken
        return [change.id for change in changes if await _refused(index, change)]
    return []


async def _refused(index: SearchIndex, change: Change) -> bool:
    try:
        await index.follow([change])
    except InvalidArgumentError:
        await index.follow([replace(change, vectors=None)])
        return True
    return False


async def conversed(index: SearchIndex, dialogue: Dialogue[Result]) -> Result:
    """Lead a dialogue by one search for each question: for engines whose state does not change in between."""
    try:
        probes = next(dialogue)
        while True:
            probes = dialogue.send(await index.search(probes))
    except StopIteration as end:
        result: Result = end.value
        return result
