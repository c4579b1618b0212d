"""A tree of files into the tree of addresses: what is new, what changed, what is gone."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from contextfind.domain.errors import ConflictError, InvalidArgumentError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.ahead import ahead
from contextfind.ingestion.batches import BatchReader, Taken, Work, batches
from contextfind.ingestion.drafting import Drafted
from contextfind.ingestion.selection import Selection
from contextfind.ingestion.summaries import SummaryWorker
from contextfind.ingestion.writing import Desk, file_away
from contextfind.ports import Commit, FileSource, SourceEntry, SourceMark

_GITIGNORE = ".gitignore"
_RULES_BYTES = (
    65_536  # of one .gitignore; a larger one is a mistake or an attack, and is passed over
)
_ALL_RULES_BYTES = 4_000_000  # all of them are held in memory while the tree is selected

Progress = Callable[[int, int], Awaitable[None]]  # files done, files in all


@dataclass(frozen=True, slots=True)
class AddPlan:
    """What is to be added where.

    root: the address of the tree, or of the file when the source is a single one.
    name: what the source is called; with the root it tells one tree from another at the same place.
    tags: for every file; None leaves those of files that are there.
    include, exclude, ignore_dirs: see `Selection`.
    """

    identity: Identity
    root: Uri
    name: str = ""
    tags: tuple[str, ...] | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_dirs: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """How an ingest went, in files; skipped and failed ones with their reason."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def include(self, taken: Taken) -> None:
        """Count what became of files that are not committed."""
        self.unchanged += taken.unchanged
        self.skipped += taken.skipped
        self.failed += taken.failed


class Ingest:
    """Makes the tree below a root equal to a source; each batch of files is one commit."""

    def __init__(self, desk: Desk, summaries: SummaryWorker, max_file_bytes: int) -> None:
        self._desk = desk
        self._summaries = summaries
        self._reader = BatchReader(desk, max_file_bytes)

    async def add(self, plan: AddPlan, source: FileSource, progress: Progress) -> Outcome:
        """Read, commit and report; a file that cannot be read fails alone.

        A tree replaces itself: files that an earlier ingest of it brought and that are not in it any
        more are removed. Nothing else ever is: not what was written or added otherwise below the same
        root. Unchanged files cost a hash.

        Raises:
            InvalidArgumentError: the source or a pattern cannot be used at all.

        """
        entries = await self._selected(plan, source)
        known = await self._desk.store.sources(plan.identity.account, plan.root)
        origin = _origin(plan, source)
        work = Work(source, plan.root, plan.tags, origin, known, len(entries))
        outcome = Outcome()
        seen: set[Uri] = set()
        done = 0
        await progress(0, len(entries))
        with self._summaries.paused():
            async with aclosing(
                ahead(self._reader.read(work, b) for b in batches(entries))
            ) as coming:
                async for taken in coming:
                    await self._desk.courtesy.give_way()
                    outcome.include(taken)
                    await self._commit(plan, taken.drafted, known, outcome)
                    seen.update(taken.seen)
                    done += taken.files
                    await progress(done, len(entries))
            if not source.single:
                outcome.removed = await self._clear(plan, origin, seen)
        return outcome

    async def _selected(self, plan: AddPlan, source: FileSource) -> Sequence[SourceEntry]:
        first = Selection(plan.include, plan.exclude, plan.ignore_dirs)
        entries = await source.entries(first.prune)
        if source.single:
            return entries
        gitignores = await _gitignores(entries, source)
        selection = Selection(plan.include, plan.exclude, plan.ignore_dirs, gitignores)
        return await self._desk.off_loop(
            lambda: [entry for entry in entries if selection.keeps(entry.path)]
        )

    async def _commit(
        self,
        plan: AddPlan,
        drafted: Sequence[tuple[str, Drafted]],
        known: Mapping[Uri, SourceMark],
        outcome: Outcome,
    ) -> None:
        """Commit all at once, or one by one when one of them is in the way of the tree."""
        if not drafted:
            return
        account = plan.identity.account
        try:
            await file_away(self._desk, account, *(one for _, one in drafted))
        except ConflictError as fault:
            if len(drafted) == 1:
                outcome.failed.append((drafted[0][0], str(fault)))
                return
            for alone in drafted:
                await self._commit(plan, [alone], known, outcome)
            return
        for _, one in drafted:
            if one.drafts[0].uri in known:
                outcome.updated += 1
            else:
                outcome.added += 1

    async def _clear(self, plan: AddPlan, ours: str, seen: set[Uri]) -> int:
        """Remove files that left the source, and directories that held nothing else.

        What is stored is read again: others may have written below the root since the ingest began.
        """
        stored = await self._desk.store.sources(plan.identity.account, plan.root)
        gone = {u for u, mark in stored.items() if mark.origin == ours and u not in seen}
        if not gone:
            return 0
        inside = _folders(seen.union(stored.keys() - gone))
        empty = {uri for uri in _folders(gone) if uri.is_under(plan.root) and uri not in inside} - {
            plan.root
        }
        stale = {uri.ancestors()[0] for uri in gone | empty}
        await self._desk.commit(
            Commit(
                plan.identity.account,
                self._desk.clock(),
                remove=tuple(sorted(gone | empty)),
                stale=tuple(sorted(stale)),
            )
        )
        return len(gone)


async def _gitignores(entries: Sequence[SourceEntry], source: FileSource) -> dict[str, str]:
    """Return the text of each .gitignore by its directory.

    Raises:
        InvalidArgumentError: there are more of them than anybody writes.

    """
    rules = [
        entry
        for entry in entries
        if entry.path.rpartition("/")[2] == _GITIGNORE and entry.size <= _RULES_BYTES
    ]
    if sum(entry.size for entry in rules) > _ALL_RULES_BYTES:
        raise InvalidArgumentError(
            f"the .gitignore files have more than {_ALL_RULES_BYTES} bytes together; "
            "leave directories out with ignore_dirs or exclude",
            {"field": "exclude"},
        )
    texts: dict[str, str] = {}
    for batch in batches(rules):
        bodies = await source.read([entry.path for entry in batch])
        for entry, body in zip(batch, bodies, strict=True):
            if isinstance(body, bytes):
                texts[entry.path.rpartition("/")[0]] = body.decode("utf-8", "replace")
    return texts


def _origin(plan: AddPlan, source: FileSource) -> str:
    """Return what marks the files of this tree; a single file is marked by nothing."""
    return "" if source.single else f"{plan.root.text} {plan.name or source.name}"


def _folders(uris: Sequence[Uri] | set[Uri]) -> set[Uri]:
    return {folder for uri in uris for folder in uri.ancestors()}
