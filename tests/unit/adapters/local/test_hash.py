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
