"""What a hit is worth by itself."""

from dataclasses import replace

import pytest

from contextfind.domain.records import Level, RecordId
from contextfind.domain.scoring import Calibration, ScoreRules
from contextfind.domain.uri import Uri
from contextfind.ports import Hit, Hits
from contextfind.retrieval.judging import Judge

PLAIN = Calibration(0.0, 1.0)
RULES = ScoreRules(meaning_weight=0.5, support_weight=0.25, phrase_weight=0.2)
HIT = Hit(RecordId(1), Uri("viking://resources/a.md"), Level.DETAIL, 0, 0.6, 0.4, 1.0)


def judge(known: float = 1.0, rules: ScoreRules = RULES) -> Judge:
    return Judge(PLAIN, rules, known)


def test_both_channels_make_the_score():
    assert judge().own(HIT) == pytest.approx(0.5)


def test_passages_that_support_the_best_one_count_a_little():
    weak, strong = replace(HIT, support=0.2), replace(HIT, support=0.6)
    assert judge().cosine(weak) == pytest.approx(0.75 * 0.6 + 0.25 * 0.2)
    assert judge().cosine(strong) == pytest.approx(0.6)
    assert judge().own(weak) < judge().own(strong)


def test_a_phrase_adds_to_the_words():
    phrase = replace(HIT, phrases=0.5)
    assert judge().words(phrase) == pytest.approx(0.4 + 0.2 * 0.5)
    assert judge().own(phrase) == pytest.approx(0.55)


def test_both_can_be_switched_off():
    off = judge(rules=ScoreRules(meaning_weight=0.5, support_weight=0.0, phrase_weight=0.0))
    assert off.own(replace(HIT, support=0.1, phrases=1.0)) == off.own(HIT)


def test_words_of_no_known_language_say_nothing():
    foreign = judge(known=0.0)
    assert foreign.words(HIT) is None
    assert foreign.own(HIT) == pytest.approx(0.6)


def test_a_record_without_a_vector_has_its_words_alone():
    wordy = replace(HIT, cosine=None, support=None)
    assert judge().cosine(wordy) is judge().meaning(wordy) is None
    assert judge().own(wordy) == pytest.approx(0.4)


def test_words_side_by_side_alone_stay_below_one():
    best = replace(HIT, cosine=None, words=0.99, phrases=1.2)
    good = replace(best, phrases=0.9)
    assert judge().words(good) > 1
    assert judge().own(good) < judge().own(best) < 1


def test_a_question_without_a_vector_is_worth_the_root_of_its_words():
    blind = Judge(PLAIN, RULES, 1.0, blind=True)
    wordy = replace(HIT, cosine=None, support=None)
    assert blind.own(wordy) == pytest.approx(0.4**0.5)
    assert blind.owns(Hits.of([wordy])).tolist() == pytest.approx([blind.own(wordy)])
    assert blind.words(wordy) == pytest.approx(0.4)
    assert Judge(PLAIN, RULES, 0.0, blind=True).own(wordy) == 0
