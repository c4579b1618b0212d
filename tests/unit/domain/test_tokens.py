import pytest

from contextfind.domain.tokens import estimated_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("fours", 2),
        ("How do we roll back the canary?", 8),
        ("回滚步骤", 3),
        ("\ud800", 1),
        ("🚀", 1),
    ],
)
def test_a_token_is_four_latin_letters_or_one_and_a_third_chinese_ones(text, tokens):
    assert estimated_tokens(text) == tokens
