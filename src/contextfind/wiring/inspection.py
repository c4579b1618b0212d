"""Everything in a data directory read once, while no server works on it: what is wrong, and what to do about it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from contextfind.adapters.embedded.inspection import IndexState, inspect_index
from contextfind.adapters.files.inspection import BlobInspection, BlobState
from contextfind.adapters.files.lock import DirectoryLock
from contextfind.adapters.sqlite.inspection import Census, DatabaseInspection
from contextfind.adapters.sqlite.rows import CURE
from contextfind.domain.errors import DamagedError
from contextfind.domain.records import Level, Record
from contextfind.ports.housekeeping import Swept, key_of
from contextfind.wiring.findings import Finding, Verdict
from contextfind.wiring.indexing import INDEX
from contextfind.wiring.progress import Told

_OFTEN = 200  # records between two signs of life
_DIGEST_DIGITS = 64
_BACKUP = "put a backup back: contextfind restore BACKUP --data NEW"
_AGAIN = f"add or write them again, or {_BACKUP}"
_START = "start the server: it repairs this by itself"
_REINDEX = "build it anew: contextfind reindex (a server that is started does so too)"


@dataclass(slots=True)
class _Texts:
    """The texts of one account so far."""

    whole: int = 0
    bad: dict[BlobState, list[str]] = field(default_factory=dict)
    summaries: int = 0  # lost or damaged, and written again by a server
    originals: list[str] = field(
        default_factory=list
    )  # files whose text was made from what is damaged


class Inspection:
    """Looks at one data directory; told: hears how far it is."""

    def __init__(self, directory: Path, told: Told) -> None:
        self._directory = directory
        self._told = told
        self._blobs = BlobInspection(directory / "blobs")
        self._all_named = True  # in `_states`
        self._states: dict[int, BlobState] = {}  # of every blob that was asked for, by key

    def run(self) -> Iterator[Finding]:
        """Yield what is seen, one thing after the other; nothing is changed. Blocks.

        Raises:
            FailedPreconditionError: a server works on the directory.

        """
        with DirectoryLock(self._directory):
            try:
                with DatabaseInspection.open(self._directory) as database:
                    yield from self._database(database)
                    yield from self._accounts(database)
                    yield from self._index(database)
            except DamagedError as damage:
                yield Finding("database", Verdict.FAIL, _plain(damage), _BACKUP)

    def _database(self, database: DatabaseInspection) -> Iterator[Finding]:
        version, known = database.schema()
        if version > known:
            line = f"its schema is {version}, this contextfind knows up to {known}"
            yield Finding("database", Verdict.FAIL, line, "use the contextfind that wrote it")
            return
        if missing := database.missing():
            line = f"without {', '.join(missing)}"
            yield Finding("database", Verdict.FAIL, line, _BACKUP)
        complaints: list[str] = []
        tables = database.tables()
        for number, table in enumerate(tables):
            self._told("reading the database", number, len(tables), "tables")
            complaints += _complaints(database, table)
        for line in complaints:
            yield Finding("database", Verdict.FAIL, line, _BACKUP)
        if not complaints and not missing:
            yield Finding(
                "database", Verdict.OK, f"{len(tables)} tables, schema {version}: all pages whole"
            )
        yield from _references(database)

    def _accounts(self, database: DatabaseInspection) -> Iterator[Finding]:
        counts = database.accounts()
        total, done = sum(counts.values()), 0
        for account, records in counts.items():
            yield from self._account(database, account, done, total)
            done += records
        yield from self._loose_blobs()

    def _account(
        self, database: DatabaseInspection, account: str, done: int, total: int
    ) -> Iterator[Finding]:
        """Read the records of an account, their texts and vectors; one that is damaged hides no other."""
        what = f"account {account}"
        texts = _Texts()
        try:
            for number, record in enumerate(database.records(account)):
                if number % _OFTEN == 0:
                    self._told("reading the accounts", done + number, total, "records")
                self._read(record, texts)
            census = database.census(account)
        except DamagedError as damage:
            self._all_named = False
            yield Finding(what, Verdict.FAIL, _plain(damage), _BACKUP)
            return
        bad = [*_lost_texts(what, texts), *_bad_vectors(what, census)]
        yield from bad
        if not bad:
            waiting = f", {census.pending} wait for a vector" if census.pending else ""
            line = f"{texts.whole} texts whole, {census.passages} passages{waiting}"
            yield Finding(what, Verdict.OK, line)

    def _read(self, record: Record, texts: _Texts) -> None:
        if (
            record.level is Level.DETAIL  # that of an overview is no blob: what its author was told
            and len(record.source) == _DIGEST_DIGITS
            and record.source != record.content
            and self._state(record.source) is BlobState.DAMAGED  # it is kept now and then only
        ):
            texts.originals.append(record.uri.text)
        if len(record.content) != _DIGEST_DIGITS:
            return
        state = self._state(record.content)
        if state is BlobState.WHOLE:
            texts.whole += 1
        elif record.level is Level.DETAIL:
            texts.bad.setdefault(state, []).append(record.uri.text)
        else:
            texts.summaries += 1

    def _state(self, digest: str) -> BlobState:
        """Read a blob, once, and return how it is."""
        key = key_of(digest)
        if key not in self._states:
            self._states[key] = self._blobs.state(digest)
        return self._states[key]

    def _loose_blobs(self) -> Iterator[Finding]:
        if not self._all_named:
            return  # nobody can say which are named
        there = [key for key, state in self._states.items() if state is not BlobState.LOST]
        named = np.sort(np.array(there, np.uint64))
        loose = Swept()
        for number, shelf in enumerate(self._blobs.loose(named)):
            self._told("listing blobs", number, 256, "shelves")
            loose += shelf
        line = f"{len(named)} named, {loose.things} that nobody names ({loose.bytes} bytes)"
        step = "a server takes them away when it is idle, or: contextfind compact"
        yield Finding("blobs", Verdict.OK, line, step if loose.things else "")

    def _index(self, database: DatabaseInspection) -> Iterator[Finding]:
        self._told("reading the index", 0, 0, "")
        if unlogged := database.unlogged():
            line = f"{unlogged} records are not in the log, and no index finds them"
            yield Finding("log", Verdict.FAIL, line, _START)
        try:
            index = inspect_index(self._directory / INDEX)
        except DamagedError as damage:
            yield Finding("index", Verdict.FAIL, str(damage), _REINDEX)
            return
        if index is None:
            yield Finding("index", Verdict.OK, "there is none yet; a server builds it")
        else:
            yield _compared(index, database)


def _plain(damage: DamagedError) -> str:
    """Return what is damaged, without the advice to look here."""
    return str(damage).removesuffix(f"; {CURE}")


def _complaints(database: DatabaseInspection, table: str) -> Sequence[str]:
    try:
        return [f"table {table}: {line}" for line in database.complaints(table)]
    except DamagedError as damage:
        return [f"table {table}: {damage.__cause__ or _plain(damage)}"]


def _references(database: DatabaseInspection) -> Iterator[Finding]:
    broken: Mapping[str, int] = {}
    try:
        broken = database.broken_references()
    except DamagedError:
        return  # said already, page by page
    for table, rows in broken.items():
        line = f"{rows} rows of {table} belong to nothing"
        repairable = table in ("passages", "tags")
        step = _START if repairable else _BACKUP
        yield Finding("database", Verdict.FAIL, line, step)


def _lost_texts(what: str, texts: _Texts) -> Iterator[Finding]:
    for state, uris in texts.bad.items():
        line = f"the texts of {len(uris)} files are {state.value}, the first is {uris[0]}"
        yield Finding(what, Verdict.FAIL, line, _AGAIN)
    if texts.originals:
        count, first = len(texts.originals), texts.originals[0]
        line = f"what the texts of {count} files were made from is damaged, the first is {first}"
        yield Finding(what, Verdict.FAIL, line, _AGAIN)
    if texts.summaries:
        line = f"{texts.summaries} overviews of directories are lost or damaged"
        yield Finding(what, Verdict.FAIL, line, _START)


def _bad_vectors(what: str, census: Census) -> Iterator[Finding]:
    bad = {"without a vector": census.vectorless, "with a damaged vector": census.damaged}
    for kind, count in bad.items():
        if count:
            line = f"{count} passages {kind}: found by words only"
            yield Finding(what, Verdict.FAIL, line, f"{_START}, or: contextfind reindex")


def _compared(index: IndexState, database: DatabaseInspection) -> Finding:
    log = database.position()
    behind = log - index.position
    if behind < 0:
        line = f"it stands at change {index.position}, the log ends at {log}"
        return Finding("index", Verdict.FAIL, line, _REINDEX)
    if behind:
        line = f"{len(index.ids)} records, {behind} changes behind the log; a server follows them"
        return Finding("index", Verdict.OK, line)
    wanted = database.findable()
    missing = len(np.setdiff1d(wanted, index.ids))
    ghosts = len(np.setdiff1d(index.ids, wanted))
    if missing or ghosts:
        line = f"{missing} records are missing in it, {ghosts} are in it that are gone"
        return Finding("index", Verdict.FAIL, line, _REINDEX)
    return Finding("index", Verdict.OK, f"{len(index.ids)} records, as in the database")
