"""Which words count as neighbours."""

from contextfind.domain.word_pairs import neighbours


def test_words_that_follow_each_other_are_neighbours_in_either_order():
    assert neighbours(["release", "note", "draft"]) == {("note", "release"), ("draft", "note")}
    assert neighbours(["note", "release"]) == neighbours(["release", "note"])


def test_a_word_is_no_neighbour_of_itself():
    assert neighbours(["bye", "bye", "love"]) == {("bye", "love")}


def test_characters_of_scripts_without_spaces_have_no_neighbours():
    assert neighbours(["回", "滚", "回滚", "canary", "步", "release", "pfad"]) == {
        ("pfad", "release")
    }


def test_words_of_other_alphabets_have_neighbours():
    assert neighbours(["план", "отката"]) == {("отката", "план")}


def test_few_words_have_no_pairs():
    assert neighbours([]) == neighbours(["alone"]) == frozenset()
