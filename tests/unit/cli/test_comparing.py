from collections.abc import Sequence

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.cli.comparing import Comparer
from contextfind.cli.judged import Question, Sample
from contextfind.domain.documents import make_passage
from contextfind.domain.records import Matrix
from contextfind.domain.uri import Uri
from contextfind.ports.models import Purpose

FUSE = Uri.parse("viking://resources/plant/TKX-7741/p07.md")


class Listening(HashEmbedder):
    """A `HashEmbedder` that remembers what it was given as documents."""

    def __init__(self) -> None:
        super().__init__("t")
        self.heard: list[str] = []

    async def embed(self, inputs: Sequence[str], purpose: Purpose) -> Matrix:
        if purpose == "document":
            self.heard += inputs
        return await super().embed(inputs, purpose)


async def test_what_is_compared_is_what_the_house_embeds() -> None:
    passage = make_passage(0, "", "The fuse is in the left box.", "plant > TKX 7741 > p07")
    sample = Sample(
        "plant", texts={FUSE: (passage,)}, questions=[Question("fuse", None, {FUSE: 1})]
    )
    embedder = Listening()
    await Comparer(embedder, lambda *_: None).compare(sample)
    assert embedder.heard == [passage.embedded_text] != [passage.indexed_text]


async def test_cosines_and_words_are_those_that_a_find_scores_by() -> None:
    texts = {"apart": ["cache pancake queue"], "near": ["pancake cache queue"]}
    texts["long"] = ["cache pancake queue", "soup"]
    held = {
        Uri.parse(f"viking://resources/set/{name}.md"): tuple(
            make_passage(at, "", text, "") for at, text in enumerate(parts)
        )
        for name, parts in texts.items()
    }
    asked = Question("queue deploy cache queue", None, dict.fromkeys(held, 1))
    judged = await Comparer(HashEmbedder("t"), lambda *_: None).compare(
        Sample("set", texts=held, questions=[asked])
    )
    apart, long, near = range(3)  # columns by address
    assert judged.words[0, near] > judged.words[0, apart]
    assert judged.words[0, near] - judged.words[0, apart] < 0.3
    assert judged.cosines[0, long] < judged.cosines[0, apart]
