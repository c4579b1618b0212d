"""Which of the ranked hits make the answer: those that are still stored, and each text once."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from contextfind.domain.records import ContextType, Level, Passage, Record, RecordId
from contextfind.domain.scope import Scope
from contextfind.ports import RecordStore
from contextfind.retrieval.frontier import Scored

Ranking = Callable[[int | None], Sequence[Scored]]  # the best so many hits (None: all), best first
_FIRST_WORDS = 4  # enough to tell most passages apart without reading all of them


@dataclass(frozen=True, slots=True, eq=False)
class Saying:
    """The words of a passage on a shelf: equal when they are, whatever white space stands between."""

    shelf: ContextType
    text: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Saying) or self.shelf is not other.shelf:
            return False
        return self.text == other.text or self.text.split() == other.text.split()

    def __hash__(self) -> int:
        return hash((self.shelf, *self.text.split(None, _FIRST_WORDS)[:_FIRST_WORDS]))


@dataclass(frozen=True, slots=True)
class Chosen:
    """A hit of the answer: what the store gives for it, and its best passage.

    twins: hits whose best passage says the same, best first; this one stands for them.
    folders: summaries of directories whose best file is one of the twins, best first.
    """

    scored: Scored
    record: Record
    passage: Passage | None
    twins: Sequence[Scored] = ()
    folders: Sequence[Scored] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """The hits of an answer, best first, and what was passed over on the way to them.

    gone: hits that the store does not know any more.
    """

    chosen: Sequence[Chosen]
    gone: AbstractSet[RecordId]

    @property
    def collapsed(self) -> bool:
        """Whether any hit stands for others."""
        return any(one.twins for one in self.chosen)


class PageMaker:
    """Goes down a ranking until the page is full.

    Files of one shelf whose best passages are equal but for white space answer the same question with the
    same words: the best one is shown, the others are named with it, and the next hits get their places.
    Summaries of directories and blank passages stand for themselves.

    collapse: False gives every hit a place of its own.
    """

    def __init__(self, store: RecordStore, *, collapse: bool) -> None:
        self._store = store
        self._collapse = collapse

    async def make(self, ranking: Ranking, limit: int, floor: float | None, scope: Scope) -> Page:
        """Return at most `limit` hits that score at least `floor` and are stored within `scope`.

        One read of the store; more only when hits were passed over.
        """
        draft = _Draft(limit, self._collapse)
        begin, size = 0, limit
        best = ranking(limit)
        while True:
            batch = [s for s in best[begin : begin + size] if floor is None or s.score >= floor]
            await self._read(batch, scope, draft)
            begin, size = begin + size, 2 * size
            if draft.full or len(batch) < size // 2:
                return draft.page()
            if begin == limit:
                best = ranking(None)

    async def _read(self, batch: Sequence[Scored], scope: Scope, draft: "_Draft") -> None:
        """Look up a batch and put it on the page.

        What the store gives for a hit must be the record that was found, in scope: an index that is
        wrong shows nobody anything.
        """
        if not batch:
            return
        found = await self._store.found([(s.hit.id, s.hit.passage) for s in batch])
        for scored, there in zip(batch, found, strict=True):
            if there is not None and _is_found(scored, there[0], scope):
                draft.take(scored, *there)
            else:
                draft.gone.add(scored.hit.id)


@dataclass(slots=True)
class _Draft:
    """A page while it fills."""

    limit: int
    collapse: bool
    gone: set[RecordId] = field(default_factory=set)
    _found: list[tuple[Scored, Record, Passage | None]] = field(default_factory=list)
    _twins: dict[RecordId, list[Scored]] = field(default_factory=dict)
    _folders: dict[RecordId, list[Scored]] = field(default_factory=dict)
    _first: dict[Saying, RecordId] = field(default_factory=dict)
    # Of each directory the hit that its best file gave its place to, None where that has its own.
    _instead: dict[str, RecordId | None] = field(default_factory=dict)

    @property
    def full(self) -> bool:
        return len(self._found) == self.limit

    def take(self, scored: Scored, record: Record, passage: Passage | None) -> None:
        """Put the hit on the page, or with the hit that says the same; nothing when it is full."""
        if self.full:
            return
        leader = self._leader(record, passage) if self.collapse else None
        if leader is None:
            self._found.append((scored, record, passage))
        else:
            behind = self._twins if record.level is Level.DETAIL else self._folders
            behind.setdefault(leader, []).append(scored)

    def page(self) -> Page:
        return Page(list(self._chosen()), self.gone)

    def _leader(self, record: Record, passage: Passage | None) -> RecordId | None:
        """Return the hit on the page that says what this one would; None: it stands for itself.

        The best file of a directory ranks above its summaries, so it was met before them.
        """
        if record.level is not Level.DETAIL:
            return self._instead.get(record.uri.text)
        text = saying(record, passage)
        first = record.id if text is None else self._first.setdefault(text, record.id)
        leader = None if first == record.id else first
        above = record.uri.parent
        while above is not None and above.text not in self._instead:
            self._instead[above.text] = leader
            above = above.parent
        return leader

    def _chosen(self) -> Iterator[Chosen]:
        for scored, record, passage in self._found:
            twins, folders = self._twins.get(record.id, ()), self._folders.get(record.id, ())
            yield Chosen(scored, record, passage, twins, folders)


def _is_found(scored: Scored, record: Record, scope: Scope) -> bool:
    hit = scored.hit
    same = record.uri.text == hit.uri.text and record.level is hit.level
    return same and scope.allows(record)


def saying(record: Record, passage: Passage | None) -> Saying | None:
    """Return what a hit says: equal ones share a place. None when it stands for itself."""
    if record.level is not Level.DETAIL or passage is None:
        return None
    blank = not passage.text or passage.text.isspace()
    return None if blank else Saying(record.context_type, passage.text)
