import threading

import numpy as np

from contextfind.adapters.local.hash import HashEmbedder


async def test_shared_words_decide_the_cosine() -> None:
    embedder = HashEmbedder("recipe1")
    question, right, wrong = await embedder.embed(
        ["how is a release rolled back", "Rolling back a release", "Lunch menu of the canteen"],
        "document",
    )
    assert embedder.calibration.meaning(float(question @ right)) > 0.8
    assert embedder.calibration.meaning(float(question @ wrong)) < 0.2


async def test_dimension_and_recipe_are_in_the_fingerprint() -> None:
    embedder = HashEmbedder("recipe1", dimension=64)
    assert embedder.fingerprint == "hash:words:64:recipe1"
    assert (await embedder.embed(["x"], "query")).shape == (1, 64)


async def test_a_text_without_words_has_a_row_too() -> None:
    (row,) = await HashEmbedder("recipe1").embed(["…"], "query")
    assert np.linalg.norm(row) == 1


class ThreadNoting:
    """A `Tokenizer` that notes in which thread it was asked."""

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()

    def terms(self, text: str) -> list[str]:
        self.threads.add(threading.current_thread())
        return text.split()


async def test_many_texts_are_embedded_beside_the_event_loop_with_the_same_rows() -> None:
    embedder = HashEmbedder("recipe1")
    embedder._tokenizer = noting = ThreadNoting()
    texts = [f"text number {number} of many" for number in range(100)]
    together = await embedder.embed(texts, "document")
    assert threading.current_thread() not in noting.threads
    alone = [await embedder.embed([text], "query") for text in texts]
    assert np.array_equal(together, np.concatenate(alone))
