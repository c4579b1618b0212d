from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filter_faults import shown
from contextfind.domain.filters import Between
from contextfind.domain.times import parse_moment, parse_period

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-02-28", datetime(2026, 2, 28, tzinfo=UTC)),
        (" 2026-02-28T10:00:00 ", datetime(2026, 2, 28, 10, tzinfo=UTC)),
        ("2026-02-28T10:00:00Z", datetime(2026, 2, 28, 10, tzinfo=UTC)),
        ("2026-02-28T10:00:00+08:00", datetime(2026, 2, 28, 2, tzinfo=UTC)),
        ("2026-02-28 10:00", datetime(2026, 2, 28, 10, tzinfo=UTC)),
        ("90s", NOW - timedelta(seconds=90)),
        ("5m", NOW - timedelta(minutes=5)),
        ("2h", NOW - timedelta(hours=2)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("0s", NOW),
    ],
)
def test_a_moment_is_read_in_utc(text, expected):
    assert parse_moment(text, "since", NOW) == expected


def test_a_bare_date_is_its_first_instant_as_since_and_its_last_as_until():
    assert parse_moment("2026-02-28", "since", NOW) == datetime(2026, 2, 28, tzinfo=UTC)
    last = datetime(2026, 2, 28, 23, 59, 59, 999999, tzinfo=UTC)
    assert parse_moment("2026-02-28", "until", NOW) == last


@pytest.mark.parametrize(
    "text",
    [
        "garbage",
        "7",
        "7y",
        "-7d",
        "1.5h",
        "٣d",
        "2026-13-01",
        "2026-02-30",
        "999999999999d",
        "9" * 5000 + "s",
        "0001-01-01T00:00:00+10:00",
        "\ud800",
    ],
)
def test_what_is_no_moment_is_refused_with_field_value_and_expectation(text):
    with pytest.raises(InvalidArgumentError) as refused:
        parse_moment(text, "until", NOW)
    assert str(refused.value).startswith(f"until is {shown(text)}; expected an ISO 8601 time")
    assert refused.value.details["field"] == "until"


def test_no_bounds_are_no_condition():
    assert parse_period(None, None, "updated_at", NOW) is None
    assert parse_period("", "  ", "updated_at", NOW) is None


def test_one_bound_leaves_the_other_side_open():
    assert parse_period("2h", None, "created_at", NOW) == Between(
        "created_at", NOW - timedelta(hours=2), None
    )


def test_the_same_day_as_both_bounds_is_that_whole_day():
    found = parse_period("2026-02-28", "2026-02-28", "updated_at", NOW)
    assert found is not None
    assert found.since is not None
    assert found.until is not None
    assert found.until - found.since == timedelta(days=1, microseconds=-1)


def test_since_after_until_is_refused():
    with pytest.raises(InvalidArgumentError, match="since is '1h' and until is '2h'"):
        parse_period("1h", "2h", "updated_at", NOW)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_either_a_moment_in_utc_or_refused(text):
    try:
        moment = parse_moment(text, "since", NOW)
    except InvalidArgumentError:
        return
    assert moment.utcoffset() == timedelta(0)


@settings(max_examples=100, deadline=None)
@given(st.datetimes(min_value=datetime(1980, 1, 1), timezones=st.timezones()))  # noqa: DTZ001
def test_a_time_with_a_zone_is_that_instant(moment):
    # Before 1980 some zones lay seconds off a full minute, which ISO 8601 cannot say.
    try:
        expected = moment.astimezone(UTC)
    except OverflowError:
        return
    assert parse_moment(moment.isoformat(), "since", NOW) == expected


@pytest.mark.parametrize("text", ["2026", "2026-11", "20261130", "2026-W48-1", "2026-334"])
def test_a_date_is_written_with_year_month_and_day(text):
    with pytest.raises(InvalidArgumentError, match="YYYY-MM-DD"):
        parse_moment(text, "until", NOW)
