import pytest

from contextfind.adapters.local.words import WordTokenizer
from contextfind.retrieval.echoes import Echoes

TOKENIZER = WordTokenizer()


def shared(query: str, text: str) -> list[str]:
    present = set(TOKENIZER.terms(query)) & set(TOKENIZER.terms(text))
    return Echoes(query, TOKENIZER).within(present)


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ("which canary releases?", "The release of a canary", ["canary", "releases"]),
        ("drain_with_backoff", "def drain_with_backoff():", ["drain_with_backoff"]),
        ("TKX-7741 in Atlas", "ticket TKX-7741", ["TKX-7741"]),
        ("数据库备份多久做一次", "每天备份数据库", ["数据库", "备份"]),
        ("把PDF里的表格整理", "提取 PDF 表格", ["PDF", "表格"]),
        ("rollback 回滚步骤", "回滚 rollback", ["rollback", "回滚"]),
        ("вопрос", "вопрос", ["вопрос"]),
        ("canary canary", "canary", ["canary"]),
        ("something else", "nothing of it", []),
        ("can it be the canary", "the being of a canary", ["canary"]),
        ("who are you", "who are you", ["who", "are", "you"]),
        ("", "text", []),
    ],
)
def test_words_are_named_as_the_question_spells_them(
    query: str, text: str, words: list[str]
) -> None:
    assert shared(query, text) == words
