import pytest

from contextfind.domain.context_line import telling
from contextfind.domain.documents import make_passage


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("", ""),
        ("atlas", "atlas"),
        ("atlas > release notes > Rollback", "release notes > Rollback"),
        ("wiki > 短兵 DEV 1062 > p00", "短兵"),
        ("wiki > 01 Warsaw > p3", "01 Warsaw"),
        ("reports > 2024 > q3", "2024"),
        ("code > doc 52 > chunk 016", "doc 52 > chunk 016"),
        ("scans > 0001 > 0002", ""),
        ("board > JIRA 77", "JIRA 77"),
    ],
)
def test_an_embedder_is_told_names_and_years_and_no_codes(context: str, said: str) -> None:
    assert telling(context) == said


def test_what_an_embedder_is_not_told_is_still_found_by_its_letters() -> None:
    passage = make_passage(0, "", "The fuse is in the left box.", "plant > TKX 7741 > p07")
    assert passage.embedded_text == "TKX 7741\nThe fuse is in the left box."
    assert passage.indexed_text == "plant > TKX 7741 > p07\nThe fuse is in the left box."


def test_texts_that_an_embedder_cannot_tell_apart_share_a_vector() -> None:
    one, other = (make_passage(0, "", "same", f"wiki > Warsaw > p{n}") for n in (1, 2))
    assert one.digest == other.digest
    assert one.digest != make_passage(0, "", "same", "wiki > Force > p1").digest
