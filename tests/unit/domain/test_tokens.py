import pytest

from contextfind.domain.tokens import estimated_tokens, shortened


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


@pytest.mark.parametrize("tokens", [0, 1, 2, 3, 10, 100])
@pytest.mark.parametrize("text", ["word " * 100, "字" * 200, "🙂" * 90, ""])
def test_a_shortened_text_costs_no_more_than_it_may(text, tokens):
    short = shortened(text, tokens)
    assert estimated_tokens(short) <= tokens
    assert shortened(text, 10_000) == text
