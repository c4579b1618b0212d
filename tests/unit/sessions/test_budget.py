from datetime import timedelta

import pytest

from contextfind.domain.conversation import Archive, ArchiveState, SessionMessage
from contextfind.sessions.budget import within
from tests.builders import NOON


def message(ordinal, tokens):
    at = NOON + timedelta(minutes=ordinal)
    return SessionMessage(f"m{ordinal}", "user", (), "x", tokens, at, ordinal=ordinal)


def archive(number, overview=0, abstract=0, state=ArchiveState.DONE):
    told = ("a" * abstract * 4, "o" * overview * 4)
    return Archive(number, 0, 0, 1, 1, NOON, state, *told)


TEN = [message(n, 10) for n in range(10)]


def test_the_newest_messages_are_kept_and_told_oldest_first():
    told = within(35, TEN, [])
    assert [one.id for one in told.messages] == ["m7", "m8", "m9"]
    assert (told.message_tokens, told.archive_tokens) == (30, 0)


def test_a_budget_is_filled_to_the_last_token():
    assert len(within(100, TEN, []).messages) == 10
    assert len(within(99, TEN, []).messages) == 9


@pytest.mark.parametrize("budget", [0, 5])
def test_the_last_message_is_there_whatever_it_costs(budget):
    told = within(budget, TEN, [archive(1, overview=1)])
    assert [one.id for one in told.messages] == ["m9"]
    assert (told.message_tokens, told.overview) == (10, "")


def test_no_message_behind_one_that_does_not_fit_is_told():
    told = within(50, [message(0, 1), message(1, 90), message(2, 10)], [])
    assert [one.id for one in told.messages] == ["m2"]


def test_a_short_overview_takes_the_place_of_the_oldest_messages():
    told = within(100, TEN, [archive(1, overview=25)])
    assert told.archive_tokens == 25
    assert len(told.overview) == 100
    assert [one.id for one in told.messages] == ["m3", "m4", "m5", "m6", "m7", "m8", "m9"]


def test_an_overview_without_room_beside_the_last_message_costs_no_other_message():
    told = within(100, [message(0, 8), message(1, 90)], [archive(1, overview=20)])
    assert [one.id for one in told.messages] == ["m0", "m1"]
    assert (told.overview, told.archive_tokens) == ("", 0)


def test_a_long_overview_is_told_only_beside_all_messages():
    long = [archive(1, overview=26)]
    assert within(100, TEN, long).overview == ""
    assert len(within(100, TEN, long).messages) == 10
    assert within(126, TEN, long).archive_tokens == 26


def test_abstracts_of_older_archives_follow_from_the_newest_until_one_does_not_fit():
    archives = [archive(4, 5, 9), archive(3, 9, 4), archive(2, 9, 6), archive(1, 9, 1)]
    told = within(25, [message(0, 10)], archives)
    assert [one.number for one in told.abstracts] == [2, 3]
    assert told.archive_tokens == 15
    assert [one.number for one in within(24, [message(0, 10)], archives).abstracts] == [3]


def test_archives_without_a_summary_are_passed_over():
    pending = archive(3, state=ArchiveState.PENDING)
    failed = archive(2, state=ArchiveState.FAILED)
    told = within(100, TEN[:1], [pending, failed, archive(1, overview=2)])
    assert told.overview == "o" * 8
    assert told.abstracts == []


def test_an_empty_session_has_no_context():
    told = within(100, [], [])
    assert (told.overview, list(told.abstracts), list(told.messages)) == ("", [], [])
    assert (told.message_tokens, told.archive_tokens) == (0, 0)
