"""A made-up library: files and directories with their vectors, and questions about them.

The same for the same number of documents and seed. Nothing of it is kept: a stretch of documents is
made when it is asked for, in tree order, so that a million of them need no more memory than a few
thousand. Every leaf of the tree has words of its own and shares some with its neighbours; they are
what its files are about. A vector is what the hash embedder makes of the words that a file is about,
drawn towards its leaf, and some noise: so vectors stand in clusters, and a question's vector, which
the server makes of its words alone, has its neighbours where it should.

How hard that is was fitted to a real model: with 128 neighbours looked at, a graph finds .97 of the
nearest ten among 100,000 of these vectors, and .99 among as many of multilingual-e5-small.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from tests.benchmark.forest import ACCOUNTS, USER, Forest, Leaf
from tests.benchmark.vocabulary import Floats, Ranks, Vocabulary, unit

DIMENSION = 384
WORDS = 80  # of a document, its title among them
TITLE = 4
ABOUT = 8  # the first words: the leaf's, and what a vector is made of
TOPICAL = 0.3  # of the words behind them are the leaf's too; the others are any
OWN_WORDS, SHARED_WORDS = 20, 15  # of a leaf, and of a group of neighbouring leaves
GROUP = 8  # neighbouring leaves
COMMONEST_TOPICAL = 200  # the words used most are no topic
PULL, NOISE = 0.3, 0.3  # lengths of the leaf's share and of the noise beside a text's vector of 1
BLOCK = 4_096  # documents made at once: 25 MB while it lasts
END = datetime(2026, 11, 1, tzinfo=UTC)  # nothing is newer
DAYS = 730
KEPT = {"thousandth": 0.001, "hundredth": 0.01, "tenth": 0.1, "most": 0.9}  # tag -> share of files
KINDS = ("guide", "note", "report", "record", "faq")
QUESTION_WORDS, OF_THE_TOPIC = 6, 4
BLOCKS_ASKED = 12  # questions are about documents of so many blocks, so that they are soon made
ABSTRACT = 200  # characters


@dataclass(frozen=True, slots=True)
class Node:
    """A file (level 2) or one of the two records of a directory (levels 0 and 1).

    owner: empty, or the user whose tree it lies in. text: its body. vector: unit length.
    """

    account: str
    owner: str
    uri: str
    level: int
    abstract: str
    text: str
    title: str
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    vector: Floats


@dataclass(frozen=True, slots=True)
class _Block:
    """Documents of consecutive numbers: words, vectors, moments, and which tags they have."""

    first: int
    ranks: Ranks
    vectors: Floats
    ages: NDArray[np.float64]
    chances: NDArray[np.float64]


class Library:
    """`documents` files below the trees of `forest`, and what can be asked about them."""

    def __init__(self, documents: int, seed: int = 7) -> None:
        self.documents, self._seed = documents, seed
        self.forest = Forest(documents, seed)
        self.vocabulary = Vocabulary(documents * WORDS, DIMENSION)
        self._topics = self._leaf_words(len(self.forest.leaves))
        self._centres = self.vocabulary.embedded(self._topics)

    def nodes(self) -> Iterator[Node]:
        """Yield everything: accounts one after another, a directory's records before what lies in it."""
        leaf = opened = None
        for number, ranks, block, row in self._rows():
            leaf = self.forest.leaf_of(number)
            if leaf is not opened:
                yield from self._directories(leaf, opened)
                opened = leaf
            yield self._file(number, leaf, ranks, block, row)

    def questions(self, account: str, count: int) -> list[str]:
        """Return questions of six words of one document each: what it is about, and rare ones."""
        chance = np.random.default_rng((self._seed, 2, ACCOUNTS.index(account)))
        numbers = self.forest.span(account)
        blocks = range(numbers[0] // BLOCK, numbers[-1] // BLOCK + 1)
        chosen = chance.permutation(len(blocks))[:BLOCKS_ASKED]
        asked: list[str] = []
        for at in chosen:
            block = self._block(blocks[at])
            low = max(numbers[0] - block.first, 0)
            high = min(numbers[-1] + 1 - block.first, len(block.ranks))
            rows = chance.integers(low, high, -(-count // len(chosen)))
            asked += [self._question(block.ranks[row], chance) for row in rows]
        chance.shuffle(asked)
        return asked[:count]

    def places(self, account: str, count: int) -> list[str]:
        """Return addresses of directories at any depth below an area, leaves among them."""
        chance = np.random.default_rng((self._seed, 3, ACCOUNTS.index(account)))
        leaves = self.forest.leaves_in(account)
        chosen = (leaves[at] for at in chance.integers(0, len(leaves), count))
        return [self._address(leaf, int(chance.integers(2, len(leaf.path) + 1))) for leaf in chosen]

    def _rows(self) -> Iterator[tuple[int, list[int], _Block, int]]:
        for number in range(-(-self.documents // BLOCK)):
            block = self._block(number)
            for row, ranks in enumerate(block.ranks.tolist()):
                yield block.first + row, ranks, block, row

    def _block(self, number: int) -> _Block:
        """Make documents `number * BLOCK` and following, fewer at the end of the library."""
        chance = np.random.default_rng((self._seed, 4, number))
        first = number * BLOCK
        last = min(first + BLOCK, self.documents)
        leaves = np.array([self.forest.leaf_of(one).number for one in range(first, last)])
        size = len(leaves)
        ranks = self.vocabulary.draw(chance.random((size, WORDS)))
        # Squared chances: the first words of a leaf are used more often than its last.
        within = (chance.random((size, WORDS)) ** 2 * self._topics.shape[1]).astype(int)
        topical = chance.random((size, WORDS)) < TOPICAL
        topical[:, :ABOUT] = True
        ranks = np.where(topical, self._topics[leaves[:, None], within], ranks)
        noise = unit(chance.standard_normal((size, DIMENSION), dtype=np.float32))
        drawn = np.float32(PULL) * self._centres[leaves] + np.float32(NOISE) * noise
        return _Block(
            first,
            ranks,
            unit(self.vocabulary.embedded(ranks[:, :ABOUT]) + drawn),
            chance.random(size),
            chance.random((size, len(KEPT) + 1)),
        )

    def _leaf_words(self, leaves: int) -> Ranks:
        """Return the words of every leaf: its own, and those of its group in between."""
        chance = np.random.default_rng((self._seed, 5))
        groups = -(-leaves // GROUP)
        # Evenly over the logarithm of the rank: some of them common, some of them rare.
        span = np.log(len(self.vocabulary) / COMMONEST_TOPICAL)
        own = np.exp(chance.random((leaves, OWN_WORDS)) * span)
        shared = np.exp(chance.random((groups, SHARED_WORDS)) * span)
        words = np.concatenate([own, shared[np.arange(leaves) // GROUP]], axis=1)
        words = words[:, chance.permutation(OWN_WORDS + SHARED_WORDS)]
        ranks: Ranks = np.minimum(words * COMMONEST_TOPICAL, len(self.vocabulary) - 1).astype(int)
        return ranks

    def _file(self, number: int, leaf: Leaf, ranks: list[int], block: _Block, row: int) -> Node:
        words = self.vocabulary.words[ranks].tolist()
        title = " ".join(words[:TITLE])
        body = " ".join(words[TITLE:])
        tags = [
            f"{name}=yes"
            for name, chance in zip(KEPT, block.chances[row].tolist(), strict=False)
            if chance < KEPT[name]
        ]
        kind = KINDS[int(block.chances[row, -1] * len(KINDS))]
        updated = END - timedelta(days=DAYS * block.ages[row])
        return Node(
            account=leaf.account,
            owner=_owner(leaf),
            uri=f"{self._address(leaf, len(leaf.path))}/{number:07d}-{words[0]}.md",
            level=2,
            abstract=body[:ABSTRACT],
            text=f"# {title}\n\n{body}\n",
            title=title,
            tags=tuple(sorted([*tags, f"kind={kind}"])),
            created_at=updated - timedelta(days=30 * block.chances[row, 0]),
            updated_at=updated,
            vector=block.vectors[row],
        )

    def _directories(self, leaf: Leaf, before: Leaf | None) -> Iterator[Node]:
        """Yield the records of the directories that lie on the way to a leaf and on no earlier one."""
        near = before is not None and (before.account, before.root) == (leaf.account, leaf.root)
        known = before.path if before is not None and near else ()
        words = self.vocabulary.words[self._topics[leaf.number]].tolist()
        about = f"{', '.join(words[:12])}."
        overview = f"# {words[0]}\n\n{about}\n\n{' '.join(words[12:])}\n"
        for depth in range(1, len(leaf.path) + 1):
            if leaf.path[:depth] == known[:depth]:
                continue
            for level, text in ((0, about), (1, overview)):
                yield Node(
                    account=leaf.account,
                    owner=_owner(leaf),
                    uri=self._address(leaf, depth),
                    level=level,
                    abstract=about,
                    text=text,
                    title=words[0],
                    tags=(),
                    created_at=END,
                    updated_at=END,
                    vector=self._centres[leaf.number],
                )

    def _address(self, leaf: Leaf, depth: int) -> str:
        return "/".join([leaf.root, *map(self._name, leaf.path[:depth], range(depth))])

    def _name(self, digit: int, depth: int) -> str:
        """Return the name of a directory: sorts as its digit, and says a word."""
        word = self.vocabulary.words[(COMMONEST_TOPICAL + 31 * digit + 7 * depth) % 2_000]
        return f"{digit:02d}-{word}"

    def _question(self, ranks: Ranks, chance: np.random.Generator) -> str:
        """Draw words that a document is about, and others of it that are rare."""
        about: Ranks = np.unique(ranks[:ABOUT])
        topic = chance.choice(about, min(OF_THE_TOPIC, len(about)), replace=False)
        others = np.setdiff1d(ranks, about)  # the commonest first
        rest = chance.choice(others[len(others) // 2 :], QUESTION_WORDS - len(topic), replace=False)
        words: Sequence[str] = self.vocabulary.words[np.concatenate([topic, rest])].tolist()
        return " ".join(words)


def _owner(leaf: Leaf) -> str:
    return USER if leaf.root.startswith("viking://user/") else ""
