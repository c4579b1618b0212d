"""Acknowledged means on disk, also after kill -9; and it is quick enough."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ports.store import Commit, RecordDraft
from tests.builders import NOON, make_passages, unit

TOP = Uri.parse("viking://resources")

WRITER = """
import asyncio, pathlib, sys
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.records import SqliteRecordStore
from tests.unit.adapters.sqlite.test_durability import file_commit

async def write_on(store, lane):
    for number in range(100_000):
        done = await store.commit(file_commit(f"{lane}-{number}"))
        print(f"{lane}-{number} {done.position}", flush=True)

async def main():
    store = SqliteRecordStore(await Database.open(pathlib.Path(sys.argv[1])))
    await asyncio.gather(*(write_on(store, lane) for lane in range(4)))

asyncio.run(main())
"""


def file_draft(name: str, passages: int = 1) -> RecordDraft:
    texts = [f"{name} says {number}" for number in range(passages)]
    return RecordDraft(
        TOP.child(f"{name}.md"), Level.DETAIL, ContextType.RESOURCE, name, make_passages(*texts)
    )


def file_commit(name: str) -> Commit:
    return Commit("acme", NOON, put=[file_draft(name)])


def killed_after(directory: Path, acknowledgements: int) -> list[str]:
    """Let a process write, kill it in the middle, and return what it had acknowledged."""
    command = [sys.executable, "-c", WRITER, str(directory)]
    root = Path(__file__).parents[4]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:  # noqa: S603 - our own program
        assert process.stdout is not None
        heard = [process.stdout.readline() for _ in range(acknowledgements)]
        process.kill()
        heard += process.stdout.readlines()
    return [line.strip() for line in heard if line.endswith("\n") and line.count(" ") == 1]


async def test_everything_acknowledged_is_there_after_kill_9(tmp_path: Path) -> None:
    heard = await asyncio.to_thread(killed_after, tmp_path, 150)
    assert len(heard) >= 150
    store = SqliteRecordStore(await Database.open(tmp_path))
    there = await store.sources("acme", TOP)
    position = await store.position()
    for line in heard:
        name, at = line.split(" ")
        assert TOP.child(f"{name}.md") in there
        assert int(at) <= position
    changes = await store.changes(0, 100_000)
    assert len(changes) == len(there) == position
    assert all(len(change.passages) == 1 for change in changes)
    await store.aclose()


async def test_a_commit_of_500_files_costs_less_than_a_second(tmp_path: Path) -> None:
    store = SqliteRecordStore(await Database.open(tmp_path))
    drafts = [file_draft(f"{number:03}", 3) for number in range(500)]
    before = time.process_time()
    await store.commit(Commit("acme", NOON, put=drafts))
    assert time.process_time() - before < 1  # of the processor, whoever else uses it
    await store.aclose()


async def test_changes_read_thousands_of_records_with_vectors_quickly(tmp_path: Path) -> None:
    store = SqliteRecordStore(await Database.open(tmp_path))
    drafts = [file_draft(f"{number:04}") for number in range(2_000)]
    await store.commit(Commit("acme", NOON, put=drafts))
    vector = unit(1, 384)
    await store.add_vectors([(p.digest, vector) for draft in drafts for p in draft.passages])
    before = time.process_time()
    changes = await store.changes(0, 2_000)
    assert time.process_time() - before < 1  # of the processor, whoever else uses it
    assert sum(change.vectors is not None for change in changes) == 2_000
    await store.aclose()
