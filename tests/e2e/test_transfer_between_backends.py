"""A deployment moved from a data directory into PostgreSQL and back: the same answers, and nothing embedded twice."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.config.storage import StorageSettings
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.records import Matrix
from contextfind.domain.uri import Uri
from contextfind.ports.models import Purpose
from contextfind.sessions.messages import Said
from contextfind.wiring import House
from tests import databases
from tests.unit.cli.calling import call

ME = Identity(DEFAULT_ACCOUNT, DEFAULT_USER)
SESSION = "plans"
FILES, FOLDERS = 40, 4
NEAR = 1e-4  # between scores of two engines, whose cosines are rounded differently
PATIENCE = 120.0
WORDS = ("canary", "rollback", "pager", "invoice", "snapshot", "quota", "灰度发布", "告警升级")
QUESTIONS = (*WORDS, "how is a rollback paged", "marker7q", "nothing of this is written")


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> Counter[Purpose]:
    """Count the texts that the embedder is given, by purpose."""
    counted: Counter[Purpose] = Counter()
    embed = HashEmbedder.embed

    async def counting(self: HashEmbedder, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        counted[purpose] += len(inputs)
        return await embed(self, inputs, purpose)

    monkeypatch.setattr(HashEmbedder, "embed", counting)
    return counted


@pytest.fixture
def schema() -> Iterator[str]:
    name = databases.place().schema
    yield name
    databases.drop(name)


def directory(path: Path) -> StorageSettings:
    return StorageSettings(path=str(path), idle_seconds=0)


def database(schema: str) -> StorageSettings:
    return StorageSettings(
        backend="postgres", dsn=databases.server(), db_schema=schema, connections=4, idle_seconds=0
    )


def environment(storage: StorageSettings) -> dict[str, str]:
    """Return what tells the program where the data is."""
    fields = ("backend", "path", "dsn", "db_schema", "connections")
    named = {f"CONTEXTFIND_STORAGE__{name.upper()}": getattr(storage, name) for name in fields}
    return {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash", **{k: str(v) for k, v in named.items() if v}}


def moved(old: StorageSettings, new: StorageSettings, file: Path) -> dict[str, int]:
    """Move everything by the program's own commands; return what the import tells."""
    out = call("export", str(file), env=environment(old))
    assert out.exit_code == 0, out.output
    into = call("import", str(file), "--json", env=environment(new))
    assert into.exit_code == 0, into.output
    told: dict[str, int] = json.loads(into.stdout)
    return told


def address(number: int) -> Uri:
    return Uri(f"viking://resources/d{number % FOLDERS}/n{number}.md")


def body(number: int) -> str:
    about = WORDS[number % len(WORDS)]
    other = WORDS[number * 3 % len(WORDS)]
    return (
        f"# Note {number}\n\n{about} and {other} of note{number}x.\n\n## End\n\nmarker{number}q\n"
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """What somebody sees of a deployment.

    finds: address and score of each hit, by question. files: of some addresses. said: how many messages.
    """

    finds: Sequence[Sequence[tuple[str, float]]]
    files: Sequence[str]
    said: int


async def fill(house: House) -> None:
    for number in range(FILES):
        await house.writer.write(ME, address(number), body(number), "create")
    said = [Said("user", [{"type": "text", "text": f"what of {word}?"}]) for word in WORDS]
    await house.conversations.add(ME, SESSION, said)


async def seen(storage: StorageSettings, *, filling: bool = False) -> Seen:
    """Return what is seen once all that is there can be found."""
    settings = Settings(storage=storage, embedding=EmbeddingSettings(provider="hash"))
    async with House.open(settings) as house:
        if filling:
            await fill(house)
        settled = await house.settling.settle(DEFAULT_ACCOUNT, None, PATIENCE)
        assert not settled.texts, settled.note
        finds = []
        for question in QUESTIONS:
            asked = FindQuestion(query=question, limit=10)
            page = await house.finder.find(RequestContext(ME, "moved"), asked)
            finds.append([(hit.uri.text, hit.score) for hit in page.resources])
        files = [await house.browser.read(ME, address(number)) for number in range(FILES)]
        session = await house.conversations.get(ME, SESSION)
        return Seen(finds, files, session.message_count)


def assert_alike(before: Seen, after: Seen) -> None:
    """Hold one to the other: the same scores in the same order; who comes last among equals may differ."""
    assert (after.files, after.said) == (before.files, before.said)
    for first, second in zip(before.finds, after.finds, strict=True):
        scores = [score for _, score in first]
        assert scores == pytest.approx([score for _, score in second], abs=NEAR)
        sure = {uri for uri, score in first if score > min(scores, default=0) + NEAR}
        assert sure <= {uri for uri, _ in second}


def test_a_deployment_goes_to_postgres_and_back_without_embedding_anything(
    tmp_path: Path, schema: str, embedded: Counter[Purpose]
) -> None:
    old, shared, new = directory(tmp_path / "old"), database(schema), directory(tmp_path / "new")
    before = asyncio.run(seen(old, filling=True))
    assert all(before.finds[:-1])
    assert embedded.pop("document") > FILES
    for number, (source, target) in enumerate([(old, shared), (shared, new)]):
        told = moved(source, target, tmp_path / f"{number}.jsonl.zst")
        assert told["written"] == told["records"] > FILES
        assert told["vectors"] == told["passages"] > FILES
        assert_alike(before, asyncio.run(seen(target)))
    assert embedded == {"query": 3 * len(QUESTIONS)}
