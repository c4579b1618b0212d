"""What the server writes about its work on stderr."""

import json
import logging
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

from contextfind.config.model import LogSettings
from contextfind.server.audit import log as audit
from contextfind.server.bookkeeping import RequestLine
from contextfind.server.bookkeeping import log as access

log = logging.getLogger(__name__)

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = (
    "uvicorn",
    "httpx",
    "httpcore",
    "asyncio",
    "mcp",
)  # their info lines tell a person nothing
LOOK_SECONDS = 0.1  # a line is written so soon; a killed process takes those with it
MOST_WAITING = 10_000  # lines, some 5 MB; more wait only while nobody reads stderr, and are dropped


class JsonLines(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, and the trace of an error.

    The line about a request has its fields besides.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC)
        told: dict[str, object] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if isinstance(record.msg, RequestLine):
            told |= record.msg.fields()
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


@contextmanager
def logs_written(settings: LogSettings) -> Iterator[None]:
    """Send everything from the level on to stderr, in the format asked for, by a thread of its own.

    So no request waits for whoever reads stderr. Leaving writes what still waits; lines after that are
    written by whoever says them.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if settings.format == "json" else logging.Formatter(TEXT))
    outbox = _Outbox(handler)
    writer = threading.Thread(target=outbox.write_lines, name="log", daemon=True)
    writer.start()
    _say_by(outbox, settings)
    try:
        yield
    finally:
        _say_by(handler, settings)
        outbox.end()
        writer.join()


class _Outbox(logging.Handler):
    """Takes lines as they are; what they say is worked out by the thread that writes them.

    That thread is woken for warnings only, and else looks by itself: waking it for every request costs each of
    them a change of threads.
    """

    def __init__(self, straight: "logging.StreamHandler[TextIO]") -> None:
        super().__init__()
        self._straight = straight
        self._lines: deque[logging.LogRecord] = deque()
        self._dropped = 0
        self._wake = threading.Event()
        self._ended = False

    def handle(self, record: logging.LogRecord) -> bool:
        """Take the line; without the lock of other handlers, for a deque needs none."""
        if record.name == audit.name:  # has no gaps, so an answer waits for it
            return bool(self._straight.handle(record))
        if len(self._lines) >= MOST_WAITING:
            self._dropped += 1
            return True
        if self._dropped:
            self._lines.append(_gap(self._dropped))
            self._dropped = 0
        self._lines.append(record)
        if record.levelno >= logging.WARNING:
            self._wake.set()
        return True

    def write_lines(self) -> None:
        """Write what comes until the end."""
        while not self._ended:
            self._wake.wait(LOOK_SECONDS)
            self._wake.clear()
            self._write()
        self._write()

    def end(self) -> None:
        """Have the thread write what is there, and return."""
        self._ended = True
        self._wake.set()

    def _write(self) -> None:
        while self._lines:
            self._straight.handle(self._lines.popleft())


def _gap(lines: int) -> logging.LogRecord:
    told = "%d lines were dropped: nobody read the log"
    return log.makeRecord(log.name, logging.WARNING, "", 0, told, (lines,), None)


def _say_by(handler: logging.Handler, settings: LogSettings) -> None:
    logging.basicConfig(level=settings.level.upper(), handlers=[handler], force=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    access.disabled = not settings.requests
