"""Acknowledged means kept, also after kill -9 of several writers at once; and what they were at is anybody's."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.postgres.records import PostgresRecordStore
from contextfind.domain.records import ContextType, Level
from contextfind.domain.uri import Uri
from contextfind.ports.store import Commit, RecordDraft
from tests import databases
from tests.builders import NOON, make_passages

TOP = Uri.parse("viking://resources")
ROOT = Path(__file__).parents[4]

WRITER = """
import asyncio, sys
from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.place import Place
from contextfind.adapters.postgres.records import PostgresRecordStore
from tests.unit.adapters.postgres.test_durability import file_commit

async def write_on(store, lane):
    for number in range(100_000):
        name = f"{sys.argv[3]}-{lane}-{number}"
        done = await store.commit(file_commit(name))
        print(f"{name} {done.position}", flush=True)
        await store.pending(2)

async def main():
    store = PostgresRecordStore(await Database.open(Place(sys.argv[1], sys.argv[2])))
    await asyncio.gather(*(write_on(store, lane) for lane in range(3)))

asyncio.run(main())
"""


def file_commit(name: str) -> Commit:
    kind, passages = ContextType.RESOURCE, make_passages(f"{name} says it")
    return Commit(
        "acme", NOON, put=[RecordDraft(TOP.child(name), Level.DETAIL, kind, name, passages)]
    )


def killed_after(place: Place, acknowledgements: int) -> Sequence[str]:
    """Let two processes write, kill both in the middle, and return what they had acknowledged."""
    processes = [
        subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", WRITER, place.dsn, place.schema, name],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for name in ("one", "two")
    ]
    outputs = [process.stdout for process in processes if process.stdout is not None]
    heard = [output.readline() for output in outputs for _ in range(acknowledgements)]
    for process in processes:
        process.kill()
    for process, output in zip(processes, outputs, strict=True):
        heard += output.readlines()
        process.wait()
        output.close()
    return [line.strip() for line in heard if line.endswith("\n") and line.count(" ") == 1]


async def test_everything_acknowledged_is_there_and_free_after_kill_9_of_two_writers() -> None:
    place = databases.place()
    store = PostgresRecordStore(await Database.open(place))
    heard = await asyncio.to_thread(killed_after, place, 60)
    assert len(heard) >= 2 * 60
    there = await store.sources("acme", TOP)
    for line in heard:
        name, at = line.split(" ")
        assert TOP.child(name) in there
        assert int(at) <= await store.position()
    changes = await store.changes(0, 100_000)
    assert [change.position for change in changes] == list(range(1, len(there) + 1))
    assert all(len(change.passages) == 1 for change in changes)
    async with asyncio.timeout(20):
        while len(await store.pending(100_000)) < len(there):  # noqa: ASYNC110 - the dead tell nobody
            await asyncio.sleep(0.02)
    await store.commit(file_commit("after"))
    assert await store.position() == len(there) + 1
    await store.aclose()
    databases.drop(place.schema)
