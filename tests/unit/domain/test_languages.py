import pytest

from contextfind.domain.languages import has_letters, is_chinese, is_cjk


@pytest.mark.parametrize(
    ("text", "cjk", "chinese"),
    [
        ("那怎么回滚？", True, True),
        ("Atlas 的回滚步骤", True, True),
        ("日本语のロールバック", True, False),
        ("介绍一下京都有名的店铺の寺", True, True),  # one sign is no language
        ("how do we deploy the service 回滚", False, False),
        ("how do we undo it?", False, False),
        ("한국어", False, False),
        ("42 ?!", False, False),
        ("", False, False),
    ],
)
def test_a_language_is_told_by_most_letters(text: str, cjk: bool, chinese: bool) -> None:  # noqa: FBT001
    assert (is_cjk(text), is_chinese(text)) == (cjk, chinese)


def test_signs_and_digits_tell_no_language() -> None:
    assert not has_letters("42 ?! 。")
    assert has_letters("回")
