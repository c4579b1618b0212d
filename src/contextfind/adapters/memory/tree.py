"""The state of the memory store, and what one commit does to it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from contextfind.domain.documents import make_passage
from contextfind.domain.errors import ConflictError
from contextfind.domain.records import (
    Level,
    Passage,
    Record,
    RecordId,
    Vector,
    context_type_of,
)
from contextfind.domain.tags import retagged
from contextfind.domain.uri import Uri
from contextfind.ports.moves import MOST, Move, Retag, missing, taken, too_many
from contextfind.ports.store import Commit, Committed, RecordDraft

Place = tuple[str, Uri, Level]


@dataclass(slots=True)
class Tree:
    """Records, passages, vectors and log as plain dicts.

    arrived: when the passages of a record came, as a running number.
    log: the position of each record's last entry, in order of position.
    """

    records: dict[RecordId, Record] = field(default_factory=dict)
    places: dict[Place, RecordId] = field(default_factory=dict)
    passages: dict[RecordId, tuple[Passage, ...]] = field(default_factory=dict)
    arrived: dict[RecordId, int] = field(default_factory=dict)
    vectors: dict[str, Vector] = field(default_factory=dict)
    log: dict[RecordId, int] = field(default_factory=dict)
    stale: dict[tuple[str, Uri], int] = field(default_factory=dict)
    last_id: int = 0
    last_arrival: int = 0
    last_mark: int = 0
    position: int = 0

    def copy(self) -> "Tree":
        """Return a tree that can be changed, or thrown away, without touching this one."""
        return Tree(
            dict(self.records),
            dict(self.places),
            dict(self.passages),
            dict(self.arrived),
            dict(self.vectors),
            dict(self.log),
            dict(self.stale),
            self.last_id,
            self.last_arrival,
            self.last_mark,
            self.position,
        )

    def apply(self, commit: Commit) -> Committed:
        """Do what the commit says, in place.

        Raises:
            ConflictError, NotFoundError, AlreadyExistsError: the tree is spoilt then; throw it away.

        """
        removed = sum(self._remove(commit.account, uri) for uri in commit.remove)
        moved = [] if commit.move is None else self._move(commit.account, commit.move)
        tagged = [] if commit.retag is None else self._retag(commit, commit.retag)
        overtaken = {
            done.uri
            for done in commit.fresh
            if self.stale.get((commit.account, done.uri)) != done.mark
        }
        for draft in commit.put:
            if draft.level is Level.DETAIL or draft.uri not in overtaken:
                self._put(commit.account, draft, commit.now)
        for draft in commit.ensure:
            if (commit.account, draft.uri, draft.level) not in self.places:
                self._put(commit.account, draft, commit.now)
        self._settle_stale(commit)
        self.drop_loose_vectors()
        return Committed(self.position, removed, moved, tagged)

    def keep(self, record: Record, passages: tuple[Passage, ...]) -> None:
        """Store a record with its passages and log it."""
        if self.passages.get(record.id) != passages:
            self.last_arrival += 1
            self.passages[record.id] = passages
            self.arrived[record.id] = self.last_arrival
        self.places[record.account, record.uri, record.level] = record.id
        self.records[record.id] = record
        self.note(record.id)

    def mark_stale(self, account: str, uri: Uri) -> None:
        """Have the summaries of a directory written again."""
        self.last_mark += 1
        self.stale[account, uri] = self.last_mark

    def drop_loose_vectors(self) -> None:
        """Forget the vectors that no passage uses any more."""
        used = {passage.digest for held in self.passages.values() for passage in held}
        self.vectors = {digest: row for digest, row in self.vectors.items() if digest in used}

    def lacking(self, record: RecordId) -> list[Passage]:
        """Return the passages of a record that have no vector yet."""
        held = self.passages.get(record, ())
        return [passage for passage in held if passage.digest not in self.vectors]

    def note(self, record: RecordId) -> None:
        """Make this record's entry the last one of the log."""
        self.position += 1
        self.log.pop(record, None)
        self.log[record] = self.position

    def under(self, account: str, uri: Uri) -> list[Record]:
        """Return the records at or below an address, by address, then level."""
        found = [r for r in self.records.values() if r.account == account and r.uri.is_under(uri)]
        return sorted(found, key=lambda record: (record.uri, record.level))

    def _remove(self, account: str, uri: Uri) -> int:
        gone = self.under(account, uri)
        for record in gone:
            del self.records[record.id], self.places[account, record.uri, record.level]
            del self.passages[record.id], self.arrived[record.id]
            self.note(record.id)
        self.stale = {
            place: mark
            for place, mark in self.stale.items()
            if place[0] != account or not place[1].is_under(uri)
        }
        return len(gone)

    def _move(self, account: str, move: Move) -> list[Uri]:
        found = _some(self.under(account, move.source), move.source)
        if self.under(account, move.target):
            raise taken(move.target)
        self.check_kind(account, move.target, Level.DETAIL)
        stale = {uri for holder, uri in self.stale if holder == account}
        stale = {uri for uri in stale if uri.is_under(move.source)}
        self.stale = {
            place: mark
            for place, mark in self.stale.items()
            if place[0] != account or place[1] not in stale
        }
        for record in found:
            self._take(move, record)
            if record.level is Level.OVERVIEW and record.uri == move.source and record.content:
                stale.add(move.source)
        for uri in sorted(stale):
            self.mark_stale(account, move.address(uri))
        return list(dict.fromkeys(move.address(record.uri) for record in found))

    def _take(self, move: Move, record: Record) -> None:
        there = move.address(record.uri)
        self.last_id += 1
        new = RecordId(self.last_id)
        del self.records[record.id], self.places[record.account, record.uri, record.level]
        self.passages[new] = tuple(
            _told(passage, move.relabel(record.uri, there, passage.context))
            for passage in self.passages.pop(record.id)
        )
        self.arrived[new] = self.arrived.pop(record.id)
        self.records[new] = replace(
            record,
            id=new,
            owner=there.owner,
            uri=there,
            context_type=context_type_of(there),
            abstract=move.abstract(record.uri, record.abstract),
            origin=move.origin(record.origin),
        )
        self.places[record.account, there, record.level] = new
        self.note(record.id)
        self.note(new)

    def _retag(self, commit: Commit, retag: Retag) -> list[Uri]:
        found = self.under(commit.account, retag.uri)
        if not retag.recursive:
            found = [record for record in found if record.uri == retag.uri]
        found = [r for r in _some(found, retag.uri) if r.is_leaf or not retag.recursive]
        for record in found:
            tags = tuple(map(storable, retagged(record.tags, retag.tags, retag.mode)))
            if tags != record.tags:
                self.records[record.id] = replace(record, tags=tags, updated_at=commit.now)
                self.note(record.id)
        return list(dict.fromkeys(record.uri for record in found))

    def _settle_stale(self, commit: Commit) -> None:
        for done in commit.fresh:
            if self.stale.get((commit.account, done.uri)) == done.mark:
                del self.stale[commit.account, done.uri]
        for uri in commit.stale:
            self.mark_stale(commit.account, uri)
        self.stale = {
            place: mark for place, mark in self.stale.items() if self._is_directory(*place)
        }

    def _put(self, account: str, draft: RecordDraft, now: datetime) -> None:
        place = (account, draft.uri, draft.level)
        known = self.places.get(place)
        if known is None:
            self.check_kind(account, draft.uri, draft.level)
            self.last_id += 1
            record = _made(RecordId(self.last_id), account, draft, now)
        else:
            record = _changed(self.records[known], draft)
        passages = tuple(sorted(map(clean, draft.passages), key=lambda passage: passage.ordinal))
        if self.passages.get(record.id) == passages and self.records.get(record.id) == record:
            return
        self.keep(replace(record, updated_at=now), passages)

    def check_kind(self, account: str, uri: Uri, level: Level) -> None:
        """Refuse what cannot be new at an address.

        Raises:
            ConflictError: a file where a directory is, or a directory where a file is.

        """
        for above in _above(uri):
            if (account, above, Level.DETAIL) in self.places:
                raise _conflict(uri, f"{above.text!r} is a file")
        if level is not Level.DETAIL:
            if (account, uri, Level.DETAIL) in self.places:
                raise _conflict(uri, "it is a file")
        elif self._is_directory(account, uri):
            raise _conflict(uri, "it is a directory")

    def _is_directory(self, account: str, uri: Uri) -> bool:
        levels = (Level.ABSTRACT, Level.OVERVIEW)
        return any((account, uri, level) in self.places for level in levels) or any(
            place[0] == account and place[1] != uri and place[1].is_under(uri)
            for place in self.places
        )


def storable(text: str) -> str:
    """Return the text as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _above(uri: Uri) -> Iterator[Uri]:
    parent = uri.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def _made(record: RecordId, account: str, draft: RecordDraft, now: datetime) -> Record:
    return Record(
        id=record,
        account=account,
        owner=draft.uri.owner,
        uri=draft.uri,
        level=draft.level,
        context_type=draft.context_type,
        abstract=storable(draft.abstract),
        tags=_tags(draft, ()),
        created_at=now,
        updated_at=now,
        content=draft.content,
        source=draft.source,
        size=draft.size,
        origin=storable(draft.origin),
    )


def _changed(record: Record, draft: RecordDraft) -> Record:
    return replace(
        record,
        context_type=draft.context_type,
        abstract=storable(draft.abstract),
        tags=_tags(draft, record.tags),
        content=draft.content,
        source=draft.source,
        size=draft.size,
        origin=storable(draft.origin),
    )


def clean(passage: Passage) -> Passage:
    """Return the passage as UTF-8 can hold it."""
    return replace(
        passage,
        heading=storable(passage.heading),
        text=storable(passage.text),
        context=storable(passage.context),
    )


def _some(found: list[Record], uri: Uri) -> list[Record]:
    """Return what lies somewhere, when it is something and not too much."""
    if not found:
        raise missing(uri)
    if len(found) > MOST:
        raise too_many(uri)
    return found


def _told(passage: Passage, context: str) -> Passage:
    """Return the passage with another context line."""
    return make_passage(passage.ordinal, passage.heading, passage.text, storable(context))


def _conflict(uri: Uri, reason: str) -> ConflictError:
    return ConflictError(f"cannot write {uri.text!r}: {reason}", {"uri": uri.text})


def _tags(draft: RecordDraft, known: tuple[str, ...]) -> tuple[str, ...]:
    return known if draft.tags is None else tuple(map(storable, draft.tags))
