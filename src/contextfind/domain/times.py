"""Moments as callers write them: `2026-11-30`, `2026-11-30T08:00:00+08:00`, `7d`; and as databases keep them."""

import re
from datetime import UTC, datetime, time, timedelta
from typing import Literal

from dateutil.parser import isoparser

from contextfind.domain.errors import InvalidArgumentError
from contextfind.domain.filter_faults import fault, shown
from contextfind.domain.filters import Between, TimeField

Bound = Literal["since", "until"]
EXPECTED = "an ISO 8601 time, a date YYYY-MM-DD, or a number with s, m, h, d or w such as 7d"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ISO = isoparser()  # ISO 8601, any one character between date and time
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_LENGTH = 10
_RELATIVE = re.compile(r"([0-9]+) ?([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_moment(text: str, bound: Bound, now: datetime) -> datetime:
    """Return the moment in UTC.

    A time without a zone is UTC; a bare date is its first microsecond as `since` and its last one as
    `until`; `2h` is two hours before `now`.

    Raises:
        InvalidArgumentError: it is none of these, or lies outside the years 1 to 9999.

    """
    plain = text.strip()
    try:
        relative = _RELATIVE.fullmatch(plain)
        if relative is not None:
            return now - timedelta(**{_UNITS[relative[2]]: int(relative[1])})
        moment = _ISO.isoparse(plain)
        if _DATE.fullmatch(plain):
            edge = time.min if bound == "since" else time.max
            return datetime.combine(moment, edge, UTC)
        if len(plain) > _DATE_LENGTH:  # a year or a month alone does not say which end it means
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise fault(bound, text, EXPECTED)


def parse_period(
    since: str | None, until: str | None, field: TimeField, now: datetime
) -> Between | None:
    """Return the condition that two bounds make, None when neither says anything.

    Raises:
        InvalidArgumentError: a bound that cannot be read, or `since` after `until`.

    """
    start = parse_moment(since, "since", now) if since and since.strip() else None
    end = parse_moment(until, "until", now) if until and until.strip() else None
    if start is None and end is None:
        return None
    if start is not None and end is not None and start > end:
        raise InvalidArgumentError(
            f"since is {shown(since)} and until is {shown(until)}; "
            "expected since not to be after until",
            {"field": "since", "value": shown(since)},
        )
    return Between(field, start, end)


def microseconds(moment: datetime) -> int:
    """Return an aware time as microseconds since 1970 in UTC, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(value: int) -> datetime:
    """Undo `microseconds`, in UTC."""
    return _EPOCH + timedelta(0, 0, value)  # by position: half the time of the keyword
