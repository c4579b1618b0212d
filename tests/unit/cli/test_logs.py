import json
import logging
from collections.abc import Iterator

import pytest

from contextfind.cli.logs import JsonLines, set_up_logs
from contextfind.config.model import LogSettings


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
    set_up_logs(LogSettings(level="warning"))
    logging.getLogger("contextfind.x").info("quiet")
    logging.getLogger("contextfind.x").warning("loud")
    told = capsys.readouterr().err
    assert "loud" in told
    assert "quiet" not in told


def test_chatty_libraries_are_kept_to_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs(LogSettings(level="debug"))
    logging.getLogger("httpx").info("HTTP Request: GET")
    assert "HTTP Request" not in capsys.readouterr().err
