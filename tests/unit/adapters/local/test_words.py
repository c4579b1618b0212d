import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.adapters.local import words
from contextfind.adapters.local.words import LONGEST_TERM, WordTokenizer

TOKENIZER = WordTokenizer()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The releases were rolled back", ["releas", "roll", "back"]),
        ("user_id", ["user_id", "user", "id"]),
        ("parseHTTPResponse", ["parsehttprespons", "pars", "http", "respons"]),
        ("foo-bar.baz", ["foo-bar.baz", "foo", "bar", "baz"]),
        ("TKX-7741", ["tkx-7741", "tkx", "7741"]),
        ("v2.3.1", ["v2.3.1", "2.3.1"]),
        ("0x1F", ["0x1f"]),
        ("2024", ["2024"]),
        ("C++ und C#语言", ["c++", "und", "c#", "语", "言", "语言"]),
        ("Claude's, CLAUDE’S", ["claud", "claud"]),
        ("l'avion", ["l", "avion"]),
        ("don't break", ["break"]),
        ("回滚步骤", ["回", "滚", "步", "骤", "回滚", "滚步", "步骤"]),
        ("한국", ["한", "국", "한국"]),
        ("使用GPU加速", ["使", "用", "使用", "gpu", "加", "速", "加速"]),
        ("данные Ёлка", ["данные", "ёлка"]),
        ("हिन्दी", ["हिन्दी"]),
        ("mərkəz", ["mərkəz"]),
        ("ქართული", ["ქართული"]),
        ("… !?", []),
        ("", []),
    ],
)
def test_text_becomes_these_terms(text: str, terms: list[str]) -> None:
    assert TOKENIZER.terms(text) == terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("résumé", "resume"),
        ("re\u0301sume\u0301", "resume"),
        ("Straße", "STRASSE"),
        ("Đà Nẵng", "da nang"),
        ("ＴＫＸ－７７４１", "tkx-7741"),
        ("ﾃﾞｰﾀ", "データ"),
        ("й", "й"),
        ("كِتَاب", "كتاب"),
        ("releases", "Release"),
        ("don’t", "don't"),
    ],
)
def test_spellings_of_one_word_share_their_terms(one: str, other: str) -> None:
    assert TOKENIZER.terms(one) == TOKENIZER.terms(other) != []


def test_marks_of_scripts_other_than_latin_stay() -> None:
    assert TOKENIZER.terms("が") != TOKENIZER.terms("か")


def test_a_text_of_function_words_alone_keeps_them() -> None:
    assert TOKENIZER.terms("Who is it?") == ["who", "is", "it"]
    assert TOKENIZER.terms("Who is Ada?") == ["ada"]


def test_an_identifier_is_found_by_each_of_its_parts() -> None:
    terms = set(TOKENIZER.terms("retryAfterSeconds"))
    assert set(TOKENIZER.terms("retry after seconds")) <= terms


def test_a_blob_becomes_one_short_term() -> None:
    (term,) = TOKENIZER.terms("aB3" * 10_000)
    assert len(term) == LONGEST_TERM


@pytest.mark.parametrize(
    "evil",
    ["a", "A", "a_", "a-.", "e\u0301", "\u0301", "'", "a'", "c+", "aA", "1.1.", "字", "-._", "a#"],
)
def test_time_grows_with_length_only(evil: str) -> None:
    text = evil * (200_000 // len(evil))
    begun = time.thread_time()
    TOKENIZER.terms(text)
    assert time.thread_time() - begun < 2


def test_a_megabyte_of_english_takes_less_than_a_second_when_warm() -> None:
    words = [f"{stem}{ending}" for stem in ("deploy", "releas", "roll") for ending in ("ing", "ed")]
    text = " ".join(
        f"The {word} of service_{at % 500} was fine." for at, word in enumerate(words * 5_000)
    )
    TOKENIZER.terms(text[:50_000])
    begun = time.thread_time()
    TOKENIZER.terms(text[:1_000_000])
    assert time.thread_time() - begun < 1


def test_threads_do_not_disturb_each_other() -> None:
    tokenizer = WordTokenizer()
    texts = [f"running{at} generalizations organizing {'x' * (at % 7)}happily" for at in range(400)]
    expected = [WordTokenizer().terms(text) for text in texts]
    found: list[list[list[str]]] = []
    threads = [
        threading.Thread(target=lambda: found.append([tokenizer.terms(text) for text in texts]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_any_text_gives_lower_case_terms_without_blanks(text: str) -> None:
    for term in TOKENIZER.terms(text):
        assert term == term.lower()
        assert term.strip() == term != ""
        assert len(term) <= LONGEST_TERM


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_the_same_text_gives_the_same_terms(text: str) -> None:
    assert TOKENIZER.terms(text) == WordTokenizer().terms(text)


@settings(deadline=None)
@given(st.text(st.characters(), max_size=40), st.text(st.characters(), max_size=40))
def test_a_word_ends_at_white_space_at_the_latest(one: str, other: str) -> None:
    apart = [*TOKENIZER.terms(f"{one} 中"), *TOKENIZER.terms(f"中 {other}")]
    assert TOKENIZER.terms(f"{one} 中\n中 {other}") == apart


def test_more_words_than_are_kept_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "CACHED_RUNS", 2)
    tokenizer = WordTokenizer()
    text = "One word, two words, three words; a_much_longer_identifier_than_is_kept()"
    assert tokenizer.terms(text) == tokenizer.terms(text) == TOKENIZER.terms(text)
