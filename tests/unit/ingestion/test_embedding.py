import asyncio
from collections.abc import Sequence

import pytest

from contextfind.adapters.memory.store import MemoryRecordStore
from contextfind.domain.errors import DamagedError, DiskRefusesError, UnavailableError
from contextfind.domain.records import Matrix, Vector
from contextfind.ingestion import embedding
from contextfind.ports import PendingText, Purpose
from tests.fakes import FakeEmbedder
from tests.households import ANN, DOCS, household


class BlindEmbedder(FakeEmbedder):
    """Gives no vector for texts that hold a word: zeros, or what is no number."""

    def __init__(self, word: str, value: float) -> None:
        super().__init__()
        self.word, self.value = word, value

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        rows = await super().embed(inputs, purpose)
        if purpose == "document":
            rows[[self.word in text for text in inputs]] = self.value
        return rows


class PickyEmbedder(FakeEmbedder):
    """Refuses texts that hold a word, as a provider with a content policy does."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        if purpose == "document" and any(self.word in text for text in inputs):
            self.calls.append((purpose, tuple(inputs)))
            raise UnavailableError("no such texts here", {"status": 400, "retryable": False})
        return await super().embed(inputs, purpose)


async def test_one_refused_text_keeps_no_other_from_its_vector() -> None:
    async with household(PickyEmbedder("poison")) as house:
        for number in range(20):
            text = "poison" if number == 7 else f"quokka number {number}"
            await house.writer.write(ANN, DOCS.child(f"{number}.md"), text, "create")
        settled = await house.settling.settle(None, None, 10)
        assert 1 <= settled.texts <= 5  # the file, and the summaries that quote it
        assert "no such texts here" in settled.note
        counts = await house.store.counts()
        assert counts["vectors"] >= 19
        assert (await house.find("poison"))[0].uri == DOCS.child("7.md")  # by words


class DamagedStore(MemoryRecordStore):
    """Cannot store the vector of a text, or of any."""

    word = "poison"

    async def add_vectors(self, vectors: Sequence[tuple[str, Vector]]) -> int:
        texts = {text.digest: text.text for text in await self.pending(99)}
        if any(self.word in texts[digest] for digest, _ in vectors):
            raise DamagedError("contextfind.db is damaged")
        return await super().add_vectors(vectors)


async def test_a_damaged_row_keeps_no_other_text_from_its_vector() -> None:
    embedder = FakeEmbedder()
    async with household(embedder, store=DamagedStore()) as house:
        for number in range(20):
            text = "poison" if number == 7 else f"quokka number {number}"
            await house.writer.write(ANN, DOCS.child(f"{number}.md"), text, "create")
        settled = await house.settling.settle(None, None, 10)
        assert 1 <= settled.texts <= 5  # the file, and the summaries that quote it
        assert "contextfind.db is damaged" in settled.note
        assert (await house.store.counts())["vectors"] >= 19


async def test_a_store_that_is_damaged_all_over_is_not_tried_with_each_text() -> None:
    store = DamagedStore()
    store.word = ""
    embedder = FakeEmbedder()
    async with household(embedder, store=store) as house:
        for number in range(40):
            await house.writer.write(ANN, DOCS.child(f"{number}.md"), f"q {number}", "create")
        settled = await house.settling.settle(None, None, 10)
        assert "contextfind.db is damaged" in settled.note
        assert sum(purpose == "document" for purpose, _ in embedder.calls) < 30


class FullStore(MemoryRecordStore):
    """Takes no vectors for some calls."""

    refusals = 3

    async def add_vectors(self, vectors: Sequence[tuple[str, Vector]]) -> int:
        if self.refusals > 0:
            self.refusals -= 1
            raise DiskRefusesError("is full")
        return await super().add_vectors(vectors)


async def test_a_full_disk_is_no_fault_of_the_embedder_and_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(embedding, "_DISK_SECONDS", 0.01)
    async with household(store=FullStore()) as house:
        await house.writer.write(ANN, DOCS.child("a.md"), "the quokka", "create")
        await house.settled()
        assert (await house.store.counts())["vectors"] > 0
    assert caplog.text.count("vectors cannot be written") == 1


class SharedStore(MemoryRecordStore):
    """Gives all texts to another process, as long as that lives."""

    other_lives = True

    async def pending(self, limit: int) -> Sequence[PendingText]:
        return [] if self.other_lives else await super().pending(limit)


async def test_what_a_process_that_died_was_at_is_embedded_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedding, "_LOOK_SECONDS", 0.01)
    store = SharedStore()
    async with household(store=store) as house:
        await house.writer.write(ANN, DOCS.child("a.md"), "the quokka", "create")
        assert (await house.settling.settle(None, None, 0.2)).texts > 0
        store.other_lives = False
        await house.settled()


async def test_a_provider_that_refuses_everything_is_not_asked_for_each_text() -> None:
    embedder = PickyEmbedder("")
    async with household(embedder) as house:
        for number in range(60):
            await house.writer.write(ANN, DOCS.child(f"{number}.md"), f"n {number}", "create")
        settled = await house.settling.settle(None, None, 10)
        assert settled.texts >= 60
        assert len(embedder.calls) < 60


async def test_texts_go_to_the_embedder_by_length_and_each_gets_its_own_vector() -> None:
    embedder = FakeEmbedder()
    async with household(embedder) as house:
        words = ["quokka", "numbat", "bilby", "dunnart"]
        files = {f"{word}.md": f"the {word} " * (40 - 9 * at) for at, word in enumerate(words)}
        await house.add(files)
        for word in words:
            assert (await house.find(word))[0].uri == DOCS.child(f"{word}.md")
    batches = [texts for purpose, texts in embedder.calls if purpose == "document"]
    assert any(len(texts) > 1 for texts in batches)
    for texts in batches:
        assert list(map(len, texts)) == sorted(map(len, texts))


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
async def test_a_vector_that_is_none_is_not_stored_and_keeps_no_other_text_waiting(
    value: float,
) -> None:
    async with household(BlindEmbedder("poison", value)) as house:
        for number in range(20):
            text = "poison" if number == 7 else f"quokka number {number}"
            await house.writer.write(ANN, DOCS.child(f"{number}.md"), text, "create")
        settled = await house.settling.settle(None, None, 10)
        assert 1 <= settled.texts <= 5  # the file, and the summaries that quote it
        assert "the embedder gave a vector that is none" in settled.note
        assert (await house.store.counts())["vectors"] >= 19
        assert (await house.find("poison"))[0].uri == DOCS.child("7.md")  # by words


async def test_what_was_written_while_the_embedder_was_down_is_embedded_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedding, "_PATIENCE", (0.01, 0.01))
    embedder = FakeEmbedder()
    embedder.down = UnavailableError("no route to the model", {"retryable": True})
    async with household(embedder) as house:
        await house.writer.write(ANN, DOCS.child("a.md"), "quokka", "create")
        settled = await house.settling.settle(None, None, 10)
        assert settled.texts > 0
        assert "no route to the model" in settled.note
        assert (await house.find("quokka"))[0].uri == DOCS.child("a.md")
        embedder.down = None
        async with asyncio.timeout(10):
            while (await house.settling.settle(None, None, 10)).texts:  # noqa: ASYNC110 - no bell
                await asyncio.sleep(0.01)
