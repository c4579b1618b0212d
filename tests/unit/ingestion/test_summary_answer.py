import json

import pytest

from contextfind.domain.errors import UnavailableError
from contextfind.ingestion.summary_answer import summary_in


def test_both_texts_are_taken_without_what_cannot_be_seen() -> None:
    answer = json.dumps({"abstract": "\u200b One.\t", "overview": "- two\r\n- three"})
    assert summary_in(answer) == ("One.", "- two \n- three")


@pytest.mark.parametrize(
    "answer",
    [
        "I would rather talk.",
        '{"abstract": "cut off", "overv',
        "[]",
        '{"abstract": "alone"}',
        '{"abstract": "", "overview": "text"}',
        '{"abstract": "…", "overview": "text"}',
        '{"abstract": 5, "overview": "text"}',
    ],
)
def test_an_answer_without_both_is_none(answer: str) -> None:
    with pytest.raises(UnavailableError):
        summary_in(answer)
