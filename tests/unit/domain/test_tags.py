import pytest

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.tags import parse_tags


def test_tags_are_trimmed_lowered_and_sorted() -> None:
    assert parse_tags([" Stage=Production ", "a = b"]) == ("a=b", "stage=production")


def test_the_last_value_of_a_key_wins() -> None:
    assert parse_tags(["a=1", "b=2", "A=3"]) == ("a=3", "b=2")


@pytest.mark.parametrize("text", ["default", "bad=", "=x", "a=b=c", "", " = "])
def test_a_bad_tag_is_named_with_its_place(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"tags\[1\]") as caught:
        parse_tags(["ok=1", text])
    assert caught.value.details["value"] == repr(text)
