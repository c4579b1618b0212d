"""Tidying at any moment changes no answer: a tidied house against one that nobody tidies."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.files.blobs import FileBlobs
from contextfind.adapters.sqlite.compaction import SqliteCompaction
from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.records import SqliteRecordStore
from contextfind.domain.scope import Scope
from contextfind.domain.uri import ROOT, Uri
from contextfind.ingestion.housekeeping import LooseBlobs
from contextfind.ingestion.passages import PassageRules
from contextfind.ingestion.writing import Desk, Writer
from contextfind.ports import body_of
from contextfind.ports.housekeeping import Chore, Swept
from tests.builders import NOON
from tests.households import ANN

ALL = Scope("acme", "ann", (ROOT,))
PLACES = [Uri(f"viking://resources/{name}.md") for name in ("a", "b", "d/a", "d/e/b")]
TEXTS = [f"# {word}\n\n{word * 40} stands here.\n" for word in ("one", "two", "three")]

Act = tuple[Uri, str | None]  # write the text there, or remove what is there
_acts = st.tuples(st.sampled_from(PLACES), st.none() | st.sampled_from(TEXTS))
_moves = st.lists(
    st.tuples(st.lists(_acts, max_size=2, unique_by=lambda act: act[0]), st.booleans())
)


@dataclass
class Place:
    """A data directory with a writer, and the chores in it, begun where they were left."""

    store: SqliteRecordStore
    blobs: FileBlobs
    writer: Writer
    chores: Sequence[Chore]
    begun: list[AsyncGenerator[Swept, None]]

    async def act(self, act: Act) -> None:
        uri, text = act
        if text is None:
            await self.writer.remove(ANN, uri, recursive=True)
        else:
            await self.writer.write(ANN, uri, text, "replace")

    async def step(self) -> bool:
        """Do one step of tidying and return whether it was the last one of a round."""
        if not self.begun:
            self.begun = [chore.steps() for chore in self.chores]
        try:
            await anext(self.begun[0])
        except StopAsyncIteration:
            del self.begun[0]
        return not self.begun

    async def answers(self) -> list[object]:
        """Return the log from its beginning, and every record with its whole text."""
        records = await self.store.below(ALL, ROOT, 1_000)
        texts = [(record, await body_of(record, self.blobs)) for record in records]
        return [*await self.store.changes(0, 1_000), *texts]


@asynccontextmanager
async def place(directory: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        cpu = stack.enter_context(ThreadPoolExecutor(1))
        database = await Database.open(directory)
        stack.push_async_callback(database.aclose)
        blobs = FileBlobs(directory / "blobs")
        stack.push_async_callback(blobs.aclose)
        store, compaction = SqliteRecordStore(database), SqliteCompaction(database)
        writer = Writer(Desk(store, blobs, lambda: NOON, cpu, PassageRules()))
        loose = LooseBlobs(compaction, blobs, 0.0)
        yield Place(store, blobs, writer, [loose.chore, *compaction.chores], [])


async def _live(directory: Path, moves: Sequence[tuple[Sequence[Act], bool]]) -> None:
    (directory / "tidied").mkdir()
    (directory / "plain").mkdir()
    async with place(directory / "tidied") as tidied, place(directory / "plain") as plain:
        for acts, tidy in moves:
            for act in acts:
                await plain.act(act)
            doing = [tidied.act(act) for act in acts[:1]]
            await asyncio.gather(*doing, *([tidied.step()] if tidy else []))
            for act in acts[1:]:
                await tidied.act(act)
        assert await tidied.answers() == await plain.answers()
        while not await tidied.step():
            pass
        while not await tidied.step():  # a round that began after the last write
            pass
        assert await tidied.answers() == await plain.answers()
        records = await tidied.store.below(ALL, ROOT, 1_000)
        named = {record.content[2:] for record in records if record.content}
        found = (directory / "tidied" / "blobs").glob("??/*")
        assert {file.name for file in found} == named


@given(_moves)
@settings(max_examples=40, deadline=None)
def test_a_tidied_house_answers_as_one_that_nobody_tidies(
    moves: list[tuple[list[Act], bool]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(_live(Path(directory), moves))
