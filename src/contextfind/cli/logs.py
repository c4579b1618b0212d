"""What the server writes about its work on stderr."""

import json
import logging
import queue
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener

from contextfind.config.model import LogSettings
from contextfind.server.audit import log as audit
from contextfind.server.bookkeeping import RequestLine
from contextfind.server.bookkeeping import log as access

log = logging.getLogger(__name__)

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = ("uvicorn", "httpx", "httpcore", "asyncio")  # their info lines tell a person nothing
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
    lines: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    listener = QueueListener(lines, handler)
    listener.start()
    _say_by(_Outbox(lines, handler), settings)
    try:
        yield
    finally:
        _say_by(handler, settings)
        listener.stop()


class _Outbox(QueueHandler):
    """Hands lines over as they are: what they say is worked out by the thread that writes them."""

    def __init__(
        self, lines: "queue.SimpleQueue[logging.LogRecord]", straight: logging.Handler
    ) -> None:
        super().__init__(lines)
        self._lines = lines
        self._straight = straight
        self._dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        if record.name == audit.name:  # has no gaps, so an answer waits for it
            self._straight.handle(record)
        elif self._lines.qsize() >= MOST_WAITING:
            self._dropped += 1
        else:
            if self._dropped:
                self._lines.put(_gap(self._dropped))
                self._dropped = 0
            self._lines.put(record)


def _gap(lines: int) -> logging.LogRecord:
    told = "%d lines were dropped: nobody read the log"
    return log.makeRecord(log.name, logging.WARNING, "", 0, told, (lines,), None)


def _say_by(handler: logging.Handler, settings: LogSettings) -> None:
    logging.basicConfig(level=settings.level.upper(), handlers=[handler], force=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    access.disabled = not settings.requests
