import pytest

from contextfind.domain.conversation import Archive
from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.session_ids import (
    LONGEST,
    archive_uri,
    parse_session_id,
    session_uri,
)
from tests.builders import NOON
from tests.households import ANN


@pytest.mark.parametrize(
    "text",
    [
        "20261130-004707-8d7f1da993c444a3",
        "agent:main:main",
        "会话 一",
        "a.b",
        "...",
        "100%",
        "x" * LONGEST,
        "who?#@+&",
    ],
)
def test_what_can_be_a_segment_of_an_address_is_an_id(text):
    assert parse_session_id(text) == text


def test_an_id_has_one_spelling():
    assert parse_session_id("  cafe\u0301\n") == "caf\u00e9"


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", ".", "..", "../x", "a/b", "/", "a\\b", "%2e%2e", "a\x00b", "a\nb", "\ud800"),
        "x" * (LONGEST + 1),
    ],
)
def test_anything_else_is_refused_by_name(text):
    with pytest.raises(
        InvalidArgumentError, match=r"^session_id is '.*expected 1 to 200"
    ) as caught:
        parse_session_id(text)
    assert caught.value.details["field"] == "session_id"
    str(caught.value).encode()


def test_a_session_and_its_archives_have_addresses_in_the_tree_of_their_user():
    archive = Archive(3, 0, 4, 5, 10, NOON)
    assert session_uri(ANN, "s 1").text == "viking://user/ann/sessions/s 1"
    assert archive_uri(ANN, "s 1", archive).text == (
        "viking://user/ann/sessions/s 1/history/archive_003"
    )
