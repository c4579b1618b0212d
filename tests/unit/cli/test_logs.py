import io
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from contextfind.cli.logs import MOST_WAITING, JsonLines, logs_written
from contextfind.config.model import LogSettings
from contextfind.server.bookkeeping import RequestLine


@pytest.fixture(autouse=True)
def _quiet_again() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_lines_are_one_object_each_even_with_a_trace() -> None:
    try:
        int("two\nlines")
    except ValueError as error:
        kind = (type(error), error, error.__traceback__)
    record = logging.LogRecord("a.b", logging.ERROR, "f.py", 1, "went %s", ("wrong",), kind)
    line = JsonLines().format(record)
    told = json.loads(line)
    assert "\n" not in line
    assert (told["level"], told["logger"], told["message"]) == ("error", "a.b", "went wrong")
    assert "ValueError" in told["trace"]


def test_the_level_decides_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with logs_written(LogSettings(level="warning")):
        logging.getLogger("contextfind.x").info("quiet")
        logging.getLogger("contextfind.x").warning("loud")
    told = capsys.readouterr().err
    assert "loud" in told
    assert "quiet" not in told


def test_chatty_libraries_are_kept_to_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    with logs_written(LogSettings(level="debug")):
        logging.getLogger("httpx").info("HTTP Request: GET")
    assert "HTTP Request" not in capsys.readouterr().err


LINE = RequestLine("r1", "acme", "ann", "POST", "/api/v1/search/find", 200, 0.00412, 1234)
ACCESS = logging.getLogger("contextfind.access")


def test_a_request_is_one_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    with logs_written(LogSettings()):
        ACCESS.info(LINE)
    told = capsys.readouterr().err
    assert told.endswith("POST /api/v1/search/find 200 4.1 ms 1234 B acme/ann r1\n")


def test_a_request_is_fields_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    with logs_written(LogSettings(format="json")):
        ACCESS.info(LINE)
    told = json.loads(capsys.readouterr().err)
    assert datetime.fromisoformat(told.pop("time")).utcoffset() == timedelta(0)
    assert told == {
        "level": "info",
        "logger": "contextfind.access",
        "message": str(LINE),
        "request_id": "r1",
        "account": "acme",
        "user": "ann",
        "method": "POST",
        "route": "/api/v1/search/find",
        "status": 200,
        "duration_ms": 4.12,
        "bytes": 1234,
    }


def test_requests_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    with logs_written(LogSettings(requests=False)):
        ACCESS.info(LINE)
        logging.getLogger("contextfind.x").info("told")
    assert "acme" not in capsys.readouterr().err
    with logs_written(LogSettings()):
        ACCESS.info(LINE)
    assert "acme" in capsys.readouterr().err


class StuckStream(io.StringIO):
    """Nobody reads it until it is told so."""

    def __init__(self) -> None:
        super().__init__()
        self.read = threading.Event()

    def write(self, text: str) -> int:
        self.read.wait(60)
        return super().write(text)


def test_nobody_who_reads_the_log_costs_lines_and_never_time_or_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = StuckStream()
    monkeypatch.setattr(sys, "stderr", stuck)
    with logs_written(LogSettings()):
        for number in range(MOST_WAITING + 50):
            logging.getLogger("contextfind.x").info("line %d", number)
        stuck.read.set()
        while "line 9999" not in stuck.getvalue():
            time.sleep(0.01)  # noqa: TID251 - the writer is a thread
        ACCESS.info(LINE)
    *first, dropped, last = stuck.getvalue().splitlines()
    assert len(first) in (MOST_WAITING, MOST_WAITING + 1)  # one may be in the writer's hands
    assert "lines were dropped" in dropped
    assert last.endswith("acme/ann r1")


def test_an_audit_line_is_written_before_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with logs_written(LogSettings()):
        logging.getLogger("contextfind.audit").info("who did what")
        assert "who did what" in stream.getvalue()
