"""A server of this API whose faults are switched on and off: each request takes the next answer."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.stubs.loopback import Loopback, Reply


def good(result: object) -> Reply:
    """Return an answer of success."""
    return 200, {}, json.dumps({"status": "ok", "result": result}).encode()


def bad(status: int, code: str = "UNAVAILABLE", **headers: str) -> Reply:
    """Return an error; a header `Retry_After` is sent as `Retry-After`."""
    error = {"code": code, "message": "not now", "details": {}}
    body = {"status": "error", "result": None, "error": error}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, json.dumps(body).encode()


class Flaky(Loopback):
    """Gives its answers one after the other, the last one again; `asked` holds path and body."""

    def __init__(self, *answers: Reply) -> None:
        self.answers: Sequence[Reply] = answers
        self.asked: list[tuple[str, Any]] = []
        super().__init__()

    def take(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[float, Callable[[], Reply]]:
        del headers
        self.asked.append((path, json.loads(content or b"null")))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return 0.0, lambda: answer
