"""What is written of a text, and that a part of it is found in it."""

from hypothesis import given
from hypothesis import strategies as st

from contextfind.adapters.postgres.texts import clean, restored, storable

# NUL, the noncharacters that stand for it, their neighbours, a lone surrogate
_texts = st.text(st.sampled_from("a\0\ufdcf\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ud800中"), max_size=8)


@given(_texts | st.text())
def test_a_text_comes_back_as_utf_8_can_hold_it(text: str) -> None:
    assert "\0" not in storable(text)
    storable(text).encode()
    assert restored(storable(text)) == clean(text)


@given(_texts, _texts)
def test_a_part_stands_in_what_is_written_where_it_stands_in_the_text(text: str, part: str) -> None:
    assert (storable(part) in storable(text)) == (clean(part) in clean(text))
