"""A made-up library: short documents in a tree of three levels, the same for the same seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

WORDS = 6_000  # different words; a mid-sized handbook has about as many
AREAS, TOPICS = 10, 20  # directories of the first and of the second level
SYLLABLES = [
    "ka",
    "lo",
    "mi",
    "ren",
    "tos",
    "va",
    "pel",
    "dun",
    "shi",
    "gra",
    "no",
    "bel",
    "tar",
    "qui",
    "sam",
    "or",
    "fen",
    "hul",
    "ze",
    "win",
]


@dataclass(frozen=True, slots=True)
class Document:
    """path is relative to its area: topic-07/00042.md."""

    area: int
    path: str
    text: str


class Library:
    """Documents and questions about them, drawn from one seeded generator."""

    def __init__(self, documents: int, seed: int = 7) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._words = [self._word(rank) for rank in range(WORDS)]
        # Zipf: the n-th word is used 1/n as often as the first, as in real text.
        self._weights = [1 / (rank + 1) for rank in range(WORDS)]
        self.documents = [self._document(number) for number in range(documents)]

    def questions(self, count: int) -> list[str]:
        """Return questions of five words each of one document, in any order."""
        asked: list[str] = []
        for _ in range(count):
            words = self._random.choice(self.documents).text.split()
            asked.append(" ".join(self._random.sample(words, 5)))
        return asked

    def topics(self, count: int, roots: Sequence[str]) -> list[str]:
        """Return addresses of second-level directories below `roots` (one per area)."""
        return [
            f"{self._random.choice(roots)}/topic-{self._random.randrange(TOPICS):02d}"
            for _ in range(count)
        ]

    def _word(self, rank: int) -> str:
        length = 2 if rank < len(SYLLABLES) ** 2 // 2 else 3
        return "".join(self._random.choices(SYLLABLES, k=length))

    def _document(self, number: int) -> Document:
        text = " ".join(self._random.choices(self._words, self._weights, k=80))
        title = " ".join(self._random.choices(self._words, self._weights, k=4))
        topic = number // AREAS % TOPICS
        return Document(
            number % AREAS, f"topic-{topic:02d}/{number:05d}.md", f"# {title}\n\n{text}\n"
        )
