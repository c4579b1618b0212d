"""A tree of files into the tree of addresses: what is new, what changed, what is gone."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from contextfind.domain.errors import ConflictError, ContextFindError, InvalidArgumentError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import Drafted, digest_of, draft_file
from contextfind.ingestion.selection import Selection
from contextfind.ingestion.summaries import SummaryWorker
from contextfind.ingestion.writing import Desk, file_away
from contextfind.ports import Commit, FileSource, SourceEntry, SourceMark

_BATCH = 32  # files read, parsed and committed together: progress is seen, memory stays flat
_BATCH_BYTES = 16_000_000
_GITIGNORE = ".gitignore"

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


class Ingest:
    """Makes the tree below a root equal to a source; each batch of files is one commit."""

    def __init__(self, desk: Desk, summaries: SummaryWorker, max_file_bytes: int) -> None:
        self._desk = desk
        self._summaries = summaries
        self._max_file_bytes = max_file_bytes

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
        outcome = Outcome()
        seen: set[Uri] = set()
        done = 0
        await progress(0, len(entries))
        with self._summaries.paused():
            for batch in _batches(entries):
                files = _placed(plan, source, batch, outcome)
                await self._take_in(plan, source, files, known, outcome)
                skipped = {path for path, _ in outcome.skipped}
                seen.update(uri for uri, entry in files if entry.path not in skipped)
                done += len(batch)
                await progress(done, len(entries))
            if not source.single:
                ours = _origin(plan, source)
                gone = [u for u, mark in known.items() if mark.origin == ours and u not in seen]
                await self._clear(plan, gone, seen.union(known.keys() - set(gone)))
                outcome.removed = len(gone)
        return outcome

    async def _selected(self, plan: AddPlan, source: FileSource) -> Sequence[SourceEntry]:
        first = Selection(plan.include, plan.exclude, plan.ignore_dirs)
        entries = await source.entries(first.prune)
        if source.single:
            return entries
        rules = [entry.path for entry in entries if entry.path.rpartition("/")[2] == _GITIGNORE]
        texts = await source.read(rules)
        gitignores = {
            path.rpartition("/")[0]: text.decode("utf-8", "replace")
            for path, text in zip(rules, texts, strict=True)
            if isinstance(text, bytes)
        }
        selection = Selection(plan.include, plan.exclude, plan.ignore_dirs, gitignores)
        return [entry for entry in entries if selection.keeps(entry.path)]

    async def _take_in(
        self,
        plan: AddPlan,
        source: FileSource,
        files: Sequence[tuple[Uri, SourceEntry]],
        known: Mapping[Uri, SourceMark],
        outcome: Outcome,
    ) -> None:
        """Commit what is new or changed among `files`."""
        small: list[tuple[Uri, SourceEntry]] = []
        for uri, entry in files:
            if entry.size > self._max_file_bytes:
                reason = f"{entry.size} bytes; the limit is {self._max_file_bytes}"
                outcome.skipped.append((entry.path, reason))
            else:
                small.append((uri, entry))
        bodies = await source.read([entry.path for _, entry in small])
        drafted: list[tuple[str, Drafted]] = []
        for (uri, entry), body in zip(small, bodies, strict=True):
            if isinstance(body, ContextFindError):
                outcome.failed.append((entry.path, str(body)))
                continue
            mark = known.get(uri)
            if mark is not None and mark.digest == digest_of(body) and plan.tags is None:
                outcome.unchanged += 1
                continue
            one = await self._draft(plan, source, uri, body, outcome)
            if one is not None:
                drafted.append((entry.path, one))
        await self._commit(plan, drafted, known, outcome)

    async def _draft(
        self, plan: AddPlan, source: FileSource, uri: Uri, body: bytes, outcome: Outcome
    ) -> Drafted | None:
        desk, origin = self._desk, _origin(plan, source)
        try:
            return await desk.off_loop(lambda: draft_file(uri, body, plan.tags, desk.rules, origin))
        except InvalidArgumentError as fault:
            quiet = fault.details.get("reason") == "binary"
            path = uri.name if source.single else uri.text.removeprefix(plan.root.folder)
            (outcome.skipped if quiet else outcome.failed).append((path, str(fault)))
            return None

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

    async def _clear(self, plan: AddPlan, gone: Sequence[Uri], staying: set[Uri]) -> None:
        """Remove files that left the source, and directories that held nothing else."""
        if not gone:
            return
        inside = {uri for uri in _folders(staying) if uri.is_under(plan.root)}
        empty = {uri for uri in _folders(gone) if uri.is_under(plan.root) and uri not in inside} - {
            plan.root
        }
        stale = {uri.ancestors()[0] for uri in [*gone, *empty]}
        await self._desk.commit(
            Commit(
                plan.identity.account,
                self._desk.clock(),
                remove=tuple(sorted({*gone, *empty})),
                stale=tuple(sorted(stale)),
            )
        )


def _origin(plan: AddPlan, source: FileSource) -> str:
    """Return what marks the files of this tree; a single file is marked by nothing."""
    return "" if source.single else f"{plan.root.text} {plan.name or source.name}"


def _batches(entries: Sequence[SourceEntry]) -> Sequence[Sequence[SourceEntry]]:
    batches: list[list[SourceEntry]] = [[]]
    weight = 0
    for entry in entries:
        if len(batches[-1]) >= _BATCH or (batches[-1] and weight + entry.size > _BATCH_BYTES):
            batches.append([])
            weight = 0
        batches[-1].append(entry)
        weight += entry.size
    return [batch for batch in batches if batch]


def _placed(
    plan: AddPlan, source: FileSource, batch: Sequence[SourceEntry], outcome: Outcome
) -> list[tuple[Uri, SourceEntry]]:
    """Return each file with its address; names that cannot be one fail."""
    placed: list[tuple[Uri, SourceEntry]] = []
    for entry in batch:
        if source.single:
            placed.append((plan.root, entry))
            continue
        try:
            placed.append((plan.root.child(entry.path), entry))
        except InvalidArgumentError as fault:
            outcome.failed.append((entry.path, str(fault)))
    return placed


def _folders(uris: Sequence[Uri] | set[Uri]) -> set[Uri]:
    return {folder for uri in uris for folder in uri.ancestors()}
