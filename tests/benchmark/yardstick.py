"""The least a find could cost here: a bare FastAPI route that gives an answer of the same size.

Run as `python -m tests.benchmark.yardstick PORT`; POST /find/BYTES answers about so many bytes.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from examples.serving import free_port
from tests.benchmark.watched import POLL_SECONDS, START_SECONDS, cpu_seconds, wait

HIT = {"uri": "viking://resources/area/topic/00000.md", "score": 0.5, "abstract": "x" * 150}
HIT_BYTES = len(json.dumps(HIT, separators=(",", ":"))) + 1  # in an answer, with its comma


@dataclass(frozen=True, slots=True)
class Bare:
    """A yardstick that runs."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Return what it has used of a core."""
        return cpu_seconds(self.pid)


class Question(BaseModel):
    """A body to be validated, like a find's."""

    query: str = ""
    limit: int = 10


def make_app() -> FastAPI:
    """Return an app whose POST /find/{size} answers about `size` bytes of JSON."""
    app = FastAPI()

    @app.post("/find/{size}")
    async def find(question: Question, size: int) -> dict[str, Any]:
        hits = [HIT] * max(1, round(size / HIT_BYTES))
        return {"status": "ok", "result": {"resources": hits, "total": question.limit}}

    return app


@contextmanager
def bare_route() -> Iterator[Bare]:
    """Run it in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "tests.benchmark.yardstick", str(port)]
    process = subprocess.Popen(command)  # noqa: S603 - our own module
    try:
        for _ in range(round(START_SECONDS / POLL_SECONDS)):
            try:
                httpx.post(f"http://127.0.0.1:{port}/find/1", json={}, trust_env=False)
                break
            except httpx.TransportError:
                wait(POLL_SECONDS)
        yield Bare(port, process.pid)
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    uvicorn.run(make_app(), port=int(sys.argv[1]), log_level="warning", access_log=False)
