"""The made-up library is the same for the same seed, and shaped as it says."""

import asyncio
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from contextfind.adapters.local.hash import HashEmbedder
from tests.benchmark.forest import ACCOUNTS, SHARES
from tests.benchmark.generated import BLOCK, DIMENSION, KEPT, WORDS, Library, Node
from tests.benchmark.kinds import kinds_of

FILES = BLOCK + 900  # so that a second block is begun


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(FILES)


@pytest.fixture(scope="module")
def nodes(library: Library) -> list[Node]:
    return list(library.nodes())


@pytest.fixture(scope="module")
def files(nodes: list[Node]) -> list[Node]:
    return [node for node in nodes if node.level == 2]


def told(node: Node) -> tuple[object, ...]:
    return (node.uri, node.text, node.tags, node.updated_at, node.vector.tobytes())


def test_the_same_seed_gives_the_same_library() -> None:
    first, again, other = (
        [told(node) for node in islice(Library(300, seed=seed).nodes(), 200)] for seed in (7, 7, 8)
    )
    assert first == again
    assert first != other
    assert Library(300).questions("default", 9) == Library(300).questions("default", 9)


def test_everything_stands_in_the_order_of_an_export_and_once(nodes: list[Node]) -> None:
    keys = [(node.account, node.uri, node.level) for node in nodes]
    assert keys == sorted(set(keys))


def test_a_directory_stands_before_what_lies_in_it(nodes: list[Node]) -> None:
    seen: set[tuple[str, str]] = set()
    for node in nodes:
        above = node.uri.rpartition("/")[0]
        assert (node.account, above) in seen or above in {
            "viking://resources",
            "viking://user/default/memories",
        }
        seen.add((node.account, node.uri))


def test_accounts_have_their_shares(files: list[Node]) -> None:
    sizes = Counter(node.account for node in files)
    assert sum(sizes.values()) == FILES
    for account, share in zip(ACCOUNTS, SHARES, strict=True):
        assert sizes[account] == pytest.approx(share * FILES, abs=3)


def test_the_tree_is_three_to_six_directories_deep(files: list[Node]) -> None:
    roots = ("viking://resources/", "viking://user/default/memories/")
    uris = [node.uri for node in files if node.account == "default"]
    below = [uri.removeprefix(root) for uri in uris for root in roots if uri.startswith(root)]
    assert len(below) == len(uris)
    assert {path.count("/") for path in below} == {3, 4, 5, 6}


def test_filters_keep_what_they_say(files: list[Node]) -> None:
    kept = Counter(tag for node in files for tag in node.tags)
    for name, share in KEPT.items():
        spread = 4 * (share * (1 - share) * FILES) ** 0.5
        assert kept[f"{name}=yes"] == pytest.approx(share * FILES, abs=spread)


def test_words_are_used_as_in_real_text(files: list[Node]) -> None:
    stand_in = Counter(word for node in files for word in set(node.text.split()) - {"#"})
    commonest = stand_in.most_common(1)[0][1] / FILES
    assert 0.08 < commonest < 0.2
    assert len(stand_in) > 10_000
    assert all(len(node.text.split()) == WORDS + 1 for node in files)


def test_texts_are_embedded_as_the_embedder_does(library: Library) -> None:
    ranks = np.array([[5, 900, 900, 31], [7, 7, 7, 1_500]])
    texts = [" ".join(words) for words in library.vocabulary.words[ranks].tolist()]
    rows = asyncio.run(HashEmbedder("", DIMENSION).embed(texts, "document"))
    assert np.allclose(library.vocabulary.embedded(ranks), rows, atol=1e-6)


def test_vectors_are_unit_and_a_question_lies_near_its_file(
    library: Library, files: list[Node]
) -> None:
    matrix = np.array([node.vector for node in files])
    assert np.allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
    questions = library.questions("default", 40)
    asked = asyncio.run(HashEmbedder("", DIMENSION).embed(questions, "query"))
    nearest = (asked @ matrix.T).argmax(axis=1)
    shared = [
        len(set(text.split()) & set(files[at].text.split()))
        for text, at in zip(questions, nearest, strict=True)
    ]
    assert np.mean(shared) > 3


def test_every_kind_has_its_requests(library: Library) -> None:
    kinds = kinds_of(library, 20)
    assert kinds[0].name == "plain"
    assert len({kind.name for kind in kinds}) == len(kinds)
    assert all(len(kind.bodies) == 20 for kind in kinds)
    assert all(library.forest.span(kind.account) for kind in kinds)
