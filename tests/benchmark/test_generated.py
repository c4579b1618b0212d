"""The made-up library is the same for the same seed, and large where it should be."""

from tests.benchmark.generated import Library


def test_the_same_seed_gives_the_same_library() -> None:
    assert Library(50).documents == Library(50).documents
    assert Library(50).questions(5) == Library(50).questions(5)
    assert Library(50, seed=8).documents != Library(50).documents


def test_every_document_has_a_path_of_its_own() -> None:
    documents = Library(2_000).documents
    assert len({(one.area, one.path) for one in documents}) == len(documents)
