import pytest

from contextfind.domain.plain_text import plain_text, visible_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [("a\x00b", "a b"), ("a\ud800b", "a\ufffdb"), ("a\tb\r\nc", "a\tb\r\nc"), ("发布", "发布")],
)
def test_what_cannot_be_sent_is_replaced(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u200bb", "a b"),
        ("a\u202eb", "a b"),
        ("a\x85b\x00", "a b "),
        ("a\tb\r\nc", "a b \nc"),
        ("👩\u200d🚀", "👩\u200d🚀"),
    ],
)
def test_what_cannot_be_seen_is_a_blank(text: str, seen: str) -> None:
    assert visible_text(text) == seen
