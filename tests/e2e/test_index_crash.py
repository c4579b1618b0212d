"""Case R092: searches beside following, a snapshot after every step, kill -9 at any moment, start again."""

# ruff: noqa: N802 - a test is named after its case

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from contextfind.adapters.embedded.index import EmbeddedIndex
from contextfind.adapters.embedded.rules import IndexRules
from contextfind.adapters.memory.index import MemoryIndex
from contextfind.domain.filters import Everything
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT
from contextfind.ports.index import Probe
from contextfind.ports.store import Change
from tests.builders import DIMENSION, unit
from tests.fakes import SimpleTokenizer
from tests.strategies import ACCOUNTS, USERS, random_log

STEP = 40
# everything is merged, drawn and written all the time, and graphs are asked for all of their nodes
RULES = IndexRules(
    exact_below=0,
    graph_from=30,
    neighbour_cost=0.0,
    small_rows=10,
    merge_at_once=50,
    quiet_seconds=0.0,
    write_after=1,
)
QUESTIONS = [
    Probe(Scope(account, user, (ROOT,)), Everything(), 20, unit(5), ("cache", "deploy"))
    for account in ACCOUNTS
    for user in USERS
]


def whole_log() -> list[Change]:
    return random_log(random.Random(11), 2_400, vector_seeds=3_000)  # noqa: S311


async def opened(directory: Path) -> EmbeddedIndex:
    return await EmbeddedIndex.open(directory, DIMENSION, "tests", SimpleTokenizer(), RULES)


async def follow_and_tell(directory: Path) -> None:
    """Be the process that is killed: tell each position that was reached on a line of its own."""
    index = await opened(directory)
    log = whole_log()

    async def search() -> None:
        while True:
            await index.search(QUESTIONS)

    searching = [asyncio.create_task(search()) for _ in range(3)]
    for begin in range(0, len(log), STEP):
        await index.follow(log[begin : begin + STEP])
        sys.stdout.write(f"{await index.position()}\n")
        sys.stdout.flush()
    for task in searching:
        task.cancel()
    await index.rest()


@pytest.mark.parametrize("told", [1, 24, 60])
async def test_R092_an_index_that_was_killed_is_whole_or_built_anew(
    tmp_path: Path, told: int
) -> None:
    command = [sys.executable, __file__, str(tmp_path / "index")]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:  # noqa: S603, ASYNC220 - our own program
        assert process.stdout is not None
        positions = [int(process.stdout.readline()) for _ in range(told)]
        process.kill()
    log = whole_log()
    index = await opened(tmp_path / "index")
    reached = await index.position()
    assert reached == 0 or reached in {change.position for change in log}
    known = MemoryIndex(SimpleTokenizer(), DIMENSION)
    await known.follow([change for change in log if change.position <= reached])
    assert await index.search(QUESTIONS) == await known.search(QUESTIONS)
    await index.follow([change for change in log if change.position > reached])
    await index.rest()
    await known.follow(log)
    assert await index.search(QUESTIONS) == await known.search(QUESTIONS)
    assert index.stats()["graph_rows"] > 0
    assert positions == sorted(positions)
    await index.aclose()


if __name__ == "__main__":
    asyncio.run(follow_and_tell(Path(sys.argv[1])))
