"""What a client was promised, and how that is held against what a server shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Page:
    """A file: its text and its tags.

    brought: whether the last ingest of the tree around it brought it; the next one without it takes it away.
    """

    text: str
    tags: tuple[str, ...] = ()
    brought: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Talk:
    """A session: what was said and is not archived, and each archive's messages, oldest first."""

    messages: tuple[str, ...] = ()
    archives: tuple[tuple[str, ...], ...] = ()


Thing = Page | Talk


@dataclass(frozen=True, slots=True)
class Operation:
    """What a request changes: name -> what is there afterwards, None for nothing. All of it, or none.

    late: the answer comes before it is done; a task ends it.
    """

    kind: str
    changes: Mapping[str, Thing | None]
    late: bool = False


@dataclass(slots=True)
class Ledger:
    """One client's things by name: addresses of files, and `session NAME`.

    known: as acknowledged. open: a request without an answer: done or not. late: names that a task still works on.
    gone: what was there before and must not be any more. acknowledged: how many requests were answered.
    """

    known: dict[str, Thing] = field(default_factory=dict)
    open: Operation | None = None
    late: set[str] = field(default_factory=set)
    gone: dict[str, Thing] = field(default_factory=dict)
    acknowledged: int = 0

    def begin(self, operation: Operation) -> None:
        """Note a request before it is sent."""
        self.open = operation

    def acknowledge(self) -> None:
        """Note that the request was answered: what it changes is a promise now."""
        operation = self.open
        assert operation is not None
        self._take(operation)
        self.late.update(operation.changes if operation.late else ())
        self.acknowledged += 1
        self.open = None

    def unsettled(self) -> set[str]:
        """Return the names of which it cannot be said yet what is there."""
        return self.late.union(self.open.changes if self.open else ())

    def broken(self, shown: Mapping[str, Thing]) -> list[str]:
        """Return a line per promise that does not hold; names that are not settled may be anything."""
        return [
            f"{name}: promised {self.known.get(name)}, shown {shown.get(name)}"
            for name in sorted({*self.known, *shown} - self.unsettled())
            if self.known.get(name) != shown.get(name)
        ]

    def settle(self, shown: Mapping[str, Thing]) -> list[str]:
        """Find out what became of the open request, and return a line per promise that does not hold."""
        self.late.clear()
        operation, self.open = self.open, None
        if operation is not None:
            now = {name: shown.get(name) for name in operation.changes}
            if now == operation.changes:
                self._take(operation)
            elif now != {name: self.known.get(name) for name in operation.changes}:
                return [f"{operation.kind} of {operation.changes} was done by half: {now}"]
        return self.broken(shown)

    def _take(self, operation: Operation) -> None:
        for name, thing in operation.changes.items():
            if thing is not None:
                self.known[name] = thing
                self.gone.pop(name, None)
            elif name in self.known:
                self.gone[name] = self.known.pop(name)
