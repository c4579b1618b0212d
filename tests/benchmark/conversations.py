"""What a session is worth without a language model: questions asked by themselves and in a conversation.

`python -m tests.benchmark.conversations [hash|local]` prints the figures. The conversations are about the tree of
the demo. They were looked at while the rules were made: the figures say that the rules work, not how well they do
on other people's conversations.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.nano import NanoEmbedder
from contextfind.adapters.memory.sources import MemorySource
from contextfind.domain.conversation import Conversation, SessionMessage
from contextfind.domain.documents import TEXT_RECIPE
from contextfind.domain.filters import OneOf
from contextfind.domain.identity import RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.results import FindResult, MatchedContext
from contextfind.domain.uri import Uri
from contextfind.ingestion.ingest import AddPlan
from contextfind.ports import Embedder
from contextfind.retrieval.intent import IntentAnalyzer
from contextfind.retrieval.searcher import Searcher
from examples.conversation import story
from examples.demo import PLACES, TREE
from tests.builders import NOON
from tests.households import ANN, Household, household

QUESTIONS = Path(__file__).with_name("conversations.json")
_FILES = OneOf("level", frozenset("2"))
_PATIENCE = 900.0  # seconds; the built-in model embeds some 15 passages in one
_LOOKED_AT = 20  # hits; an answer further down is none


@dataclass(frozen=True)
class Case:
    """A question at the end of a conversation.

    expected: how the addresses of the files that answer it end. leans: whether it means nothing by
    itself.
    """

    conversation: Conversation
    query: str
    expected: Sequence[str]
    leans: bool


@dataclass(frozen=True)
class Figures:
    """Of some questions: the mean of 1 / rank of the first right file, and how often that is first."""

    questions: int
    mrr: float
    first: int


def cases() -> Iterator[Case]:
    """Yield the judged questions."""
    for told in json.loads(QUESTIONS.read_text("utf-8")):
        talk = conversation(told["messages"])
        for asked in told["questions"]:
            yield Case(talk, asked["query"], asked["expected"], asked["leans"])


def example() -> Sequence[Case]:
    """Return the questions of `examples/conversation.json`."""
    messages, questions = story()
    talk = conversation(messages)
    return [Case(talk, one.query, [one.expected], leans=True) for one in questions]


def conversation(messages: Sequence[Mapping[str, str]]) -> Conversation:
    """Return what a planner is told of these messages."""
    said = [
        SessionMessage(f"m{at}", one["role"], (), one["content"], 1, NOON, ordinal=at)
        for at, one in enumerate(messages)
    ]
    return Conversation("", tuple(said))


async def fill(house: Household) -> None:
    """Add the tree of the demo."""
    for room, place in PLACES.items():
        paths = [path for path in (TREE / room).rglob("*") if path.is_file()]
        files = {
            path.relative_to(TREE / room).as_posix(): path.read_bytes()
            for path in paths
            if "__pycache__" not in path.parts
        }
        root = Uri(place.replace("~", f"user/{ANN.user}"))
        await house.ingest.add(AddPlan(ANN, root), MemorySource(files, room), _silent)
    await house.settling.settle(None, None, _PATIENCE)


async def _silent(_done: int, _total: int) -> None:
    pass


async def ask(
    house: Household, case: Case, *, alone: bool, analyzer: IntentAnalyzer | None = None
) -> Sequence[MatchedContext]:
    """Return the files found for a question, best first.

    alone: as if nothing had been said. analyzer: the language model that plans, None for the rules.
    """

    async def recollect(*_: object) -> Conversation:
        return Conversation() if alone else case.conversation

    searcher = Searcher(house.finder, lambda: 0.0, recollect, analyzer)
    question = FindQuestion(case.query, where=_FILES, limit=_LOOKED_AT)
    return files_of(await searcher.search(RequestContext(ANN, "r"), question, "s"))


def files_of(found: FindResult) -> Sequence[MatchedContext]:
    """Return the hits of all shelves, best first."""
    every = [*found.memories, *found.resources, *found.skills]
    return sorted(every, key=lambda hit: (-hit.score, hit.uri))


def rank(hits: Sequence[MatchedContext], case: Case) -> int:
    """Return the place of the first right file from 1, 0 where there is none."""
    ends = tuple(f"/{end}" for end in case.expected)
    return next((at for at, hit in enumerate(hits, 1) if hit.uri.text.endswith(ends)), 0)


async def measure(house: Household, asked: Sequence[Case], *, alone: bool) -> Figures:
    """Return how well the questions are answered."""
    ranks = [rank(await ask(house, case, alone=alone), case) for case in asked]
    mrr = sum(1 / place for place in ranks if place) / len(ranks)
    return Figures(len(ranks), round(mrr, 3), ranks.count(1))


async def main(name: str) -> None:
    """Print the figures with one embedder."""
    async with AsyncExitStack() as stack:
        embedder: Embedder = HashEmbedder("t") if name == "hash" else NanoEmbedder(TEXT_RECIPE)
        stack.push_async_callback(embedder.aclose)
        house = await stack.enter_async_context(household(embedder))
        await fill(house)
        for leans in (True, False):
            asked = [case for case in cases() if case.leans is leans]
            print("points back" if leans else "stands by itself")  # noqa: T201
            for alone in (True, False):
                figures = await measure(house, asked, alone=alone)
                print("  alone     " if alone else "  in session", figures)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "local"))
