"""What the server writes about its work on stderr."""

import json
import logging
import sys

from contextfind.config.model import LogSettings

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = ("uvicorn", "httpx", "httpcore", "asyncio")  # their info lines tell a person nothing


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the trace of an error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        told = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


def set_up_logs(settings: LogSettings) -> None:
    """Send everything from the level on to stderr, in the format asked for."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if settings.format == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=settings.level.upper(), handlers=[handler], force=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
