"""The benchmark of committed conversations judges rightly, and a small run of it in real processes."""

from collections import Counter
from dataclasses import replace

import pytest

from contextfind.domain.conversation import Archive
from contextfind.domain.session_ids import archive_uri
from contextfind.sessions.memory_files import memories_uri
from tests.benchmark.sessions import (
    WAYS,
    Judged,
    Story,
    ask,
    by_kind,
    is_log,
    measure,
    recall,
    served,
    story,
    tell,
    turns_in,
)
from tests.benchmark.sessions import main as run
from tests.builders import NOON
from tests.households import ANN

ARCHIVE = Archive(1, 0, 19, 20, 400, NOON)
HOLDS = [frozenset({"a"}), frozenset[str](), frozenset({"b", "c"})]


def test_recall_is_the_share_of_the_evidence_that_the_hits_hold() -> None:
    assert recall(HOLDS, frozenset({"a"})) == 1
    assert recall(HOLDS, frozenset({"c", "d"})) == 0.5
    assert recall(HOLDS, frozenset({"d"})) == 0
    assert recall([], frozenset({"a"})) == 0


def test_the_eleventh_hit_counts_for_nothing() -> None:
    empty = [frozenset[str]()] * 9
    assert recall([*empty, frozenset({"a"})], frozenset({"a"})) == 1
    assert recall([*empty, frozenset[str](), frozenset({"a"})], frozenset({"a"})) == 0


def test_a_turn_is_held_word_for_word_and_by_a_file() -> None:
    turns = {"a": "I carry her.", "b": "Poor Pixel."}
    both = "# Wenqi\n\nI carry her.\n\nPoor Pixel.\n"
    assert turns_in({"level": 2, "content": both}, turns) == {"a", "b"}
    assert turns_in({"level": 2, "content": "Wenqi carries her."}, turns) == set()
    assert turns_in({"level": 1, "content": both}, turns) == set()
    assert turns_in({"level": 2, "content": None}, turns) == set()


def test_a_session_and_its_archives_are_known_by_their_addresses() -> None:
    assert is_log(archive_uri(ANN, "spring", ARCHIVE).text)
    assert not is_log(memories_uri(ANN).child("facts").text)


def test_means_are_of_each_kind_and_of_all_questions_alike() -> None:
    judged = [Judged("one", 1, 10, 0), Judged("one", 0, 10, 0), Judged("time", 1, 10, 0)]
    assert by_kind(judged) == {"one": 0.5, "time": 1.0, "all": 0.667}


def test_the_conversation_is_three_sessions_of_sixty_turns_with_twenty_judged_questions() -> None:
    told = story()
    assert [len(messages) for messages in told.sessions.values()] == [20, 20, 20]
    assert len(set(told.turns.values())) == len(told.turns) == 60
    assert len({question.query for question in told.questions}) == 20
    assert all(
        question.evidence and question.evidence <= set(told.turns) for question in told.questions
    )
    speakers = Counter(one["peer_id"] for messages in told.sessions.values() for one in messages)
    assert speakers == {"Jonas": 30, "Wenqi": 30}


def test_no_turn_is_a_part_of_another() -> None:
    turns = story().turns
    for name, said in turns.items():
        assert turns_in({"level": 2, "content": said}, turns) == {name}


def short() -> Story:
    """One session of the conversation, and what is asked in the words of it."""
    told = story()
    asked = [one for one in told.questions if one.evidence <= {"spring:10", "spring:18"}]
    return replace(told, sessions={"spring": told.sessions["spring"]}, questions=asked)


def test_without_a_chat_model_a_commit_leaves_a_summary_and_nothing_to_be_found() -> None:
    figures = measure(WAYS[0], short(), "hash")
    assert (figures.summaries, figures.memories, figures.hits) == (1, 0, 0)
    assert figures.recall == {"one": 0.0, "all": 0.0}


def test_r019_what_was_said_finds_its_memory_first_and_no_part_of_a_session() -> None:
    told = short()
    said = [replace(one, query=told.turns[min(one.evidence)]) for one in told.questions]
    with served(WAYS[1], "hash") as api:
        assert tell(api, told) == (1, 20)
        asked = ask(api, told)
        first = ask(api, replace(told, questions=said), limit=1)
    assert [one.recall for one in asked] == [1.0, 1.0]
    assert [(one.recall, one.hits) for one in first] == [(1.0, 1), (1.0, 1)]
    assert {one.logs for one in asked} == {0}


def test_the_command_line_takes_no_embedder_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["sessions", "--provider", "magic"])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    assert "--provider" in capsys.readouterr().err
