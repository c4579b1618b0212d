from contextfind.answering.answer import Answer, Outcome
from contextfind.domain.uri import Uri

URIS = [Uri(f"viking://resources/{name}.md") for name in "abc"]


def written(text: str) -> Answer:
    return Answer("q", Outcome.WRITTEN, URIS, ["one", "two", "three"], text)


def test_numbers_become_addresses_below_the_text() -> None:
    answer = written("Stop it [2], then start it [1][2].")
    assert answer.cited == URIS[:2]
    assert answer.as_result() == {
        "question": "q",
        "contexts": ["one", "two", "three"],
        "answer": "Stop it [2], then start it [1][2].\n\n"
        "[1] viking://resources/a.md\n[2] viking://resources/b.md",
        "retrieved_uris": [uri.text for uri in URIS],
    }


def test_several_numbers_may_share_brackets_also_chinese_ones() -> None:
    assert written("Both [1, 3].").cited == [URIS[0], URIS[2]]
    assert written("两者都是【1、2】。").cited == URIS[:2]


def test_numbers_of_nothing_and_links_cite_nothing() -> None:
    for text in ("See [4].", "See [0].", "See [1](http://x).", "No [source].", "None."):
        assert written(text).cited == []
        assert written(text).as_result()["answer"] == text


def test_only_a_written_answer_cites() -> None:
    answer = Answer("q", Outcome.FAILED, URIS, ["one", "two", "three"], "No answer: line [1].")
    assert (answer.cited, answer.failed) == ([], True)
    assert answer.as_result()["answer"] == "No answer: line [1]."
