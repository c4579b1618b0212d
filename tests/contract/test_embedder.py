"""One suite for every `Embedder`."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import numpy as np
import pytest

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.adapters.local.nano import NanoEmbedder
from contextfind.adapters.remote.embeddings import EmbeddingSettings, OpenAIEmbedder
from contextfind.adapters.remote.endpoint import EndpointSettings
from contextfind.ports.models import Embedder, Purpose
from tests.stubs.embedder import StubEmbedder, stub_embedder

TEXTS = ["How is a release rolled back?", "回滚步骤", "TKX-7741", "ленту новостей", "😀"]
ODD = [
    "",
    " \n\t",
    "a\x00b",
    "\x00",
    "lone \ud800 surrogate",
    "\udfff",
    "x" * 100_000,
    "字" * 5_000,
]
PURPOSES: tuple[Purpose, ...] = ("query", "document")


@pytest.fixture(scope="module")
def stub() -> Iterator[StubEmbedder]:
    with stub_embedder() as stub:
        yield stub


def openai(stub: StubEmbedder) -> Embedder:
    settings = EmbeddingSettings("m", "recipe1", batch_size=3, max_characters=8_000, dimension=8)
    return OpenAIEmbedder(settings, EndpointSettings(stub.base_url, timeout=5, concurrency=4))


MAKERS: dict[str, Callable[[StubEmbedder], Embedder]] = {
    "hash": lambda _: HashEmbedder("recipe1"),
    "local": lambda _: NanoEmbedder("recipe1"),
    "openai": openai,
}


@pytest.fixture(params=MAKERS)
async def embedder(request: pytest.FixtureRequest, stub: StubEmbedder) -> AsyncIterator[Embedder]:
    embedder = MAKERS[request.param](stub)
    yield embedder
    await embedder.aclose()


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_rows_are_float32_of_unit_length(embedder: Embedder, purpose: Purpose) -> None:
    rows = await embedder.embed(TEXTS, purpose)
    assert rows.shape == (len(TEXTS), embedder.dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_text_gives_the_same_row_alone_and_among_others(
    embedder: Embedder, purpose: Purpose
) -> None:
    together = await embedder.embed(TEXTS, purpose)
    turned = (await embedder.embed(TEXTS[::-1], purpose))[::-1]
    alone = np.concatenate([await embedder.embed([text], purpose) for text in TEXTS])
    assert np.array_equal(together, turned)
    assert np.array_equal(together, alone)


async def test_different_texts_give_different_rows(embedder: Embedder) -> None:
    rows = await embedder.embed(TEXTS[:4], "document")
    assert np.all(rows @ rows.T - np.eye(4) < 0.999)


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_any_text_is_accepted(embedder: Embedder, purpose: Purpose) -> None:
    rows = await embedder.embed(ODD, purpose)
    assert rows.shape == (len(ODD), embedder.dimension)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_what_stands_after_a_nul_counts(embedder: Embedder, purpose: Purpose) -> None:
    one, other = await embedder.embed(["release\x00rollback", "release\x00lunch"], purpose)
    assert not np.array_equal(one, other)


async def test_no_text_gives_no_row(embedder: Embedder) -> None:
    for purpose in PURPOSES:
        assert (await embedder.embed([], purpose)).shape == (0, embedder.dimension)


async def test_text_beyond_max_characters_does_not_matter(embedder: Embedder) -> None:
    text = "word " * (embedder.max_characters // 5 + 1)
    rows = await embedder.embed([text[: embedder.max_characters], text + "release"], "document")
    assert np.array_equal(rows[0], rows[1])


async def test_calls_at_once_do_not_mix_their_rows(embedder: Embedder) -> None:
    expected = {text: (await embedder.embed([text], "document"))[0] for text in TEXTS}
    asked = [TEXTS[at : at + 3] for at in range(3)]
    answers = await asyncio.gather(*(embedder.embed(texts, "document") for texts in asked))
    for texts, rows in zip(asked, answers, strict=True):
        assert np.array_equal(rows, [expected[text] for text in texts])


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_cancelled_call_ends_and_harms_no_other(
    embedder: Embedder, purpose: Purpose
) -> None:
    expected = await embedder.embed(["release"], purpose)
    long = [f"{at} release notes" for at in range(200)]
    cancelled = asyncio.create_task(embedder.embed(long, purpose))
    other = asyncio.create_task(embedder.embed(["release"], purpose))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert np.array_equal(await other, expected)


async def test_it_says_what_it_is(embedder: Embedder) -> None:
    await embedder.embed(["x"], "document")
    assert str(embedder.dimension) in embedder.fingerprint
    assert "recipe1" in embedder.fingerprint
    assert embedder.calibration.span > 0
    assert embedder.accepts_images is False
    assert embedder.max_characters >= 1_000
