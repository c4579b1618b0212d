"""The least a find could cost here: a bare FastAPI route that gives an answer of the same size.

Run as `python -m tests.benchmark.yardstick PORT BYTES`.
"""

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Question(BaseModel):
    """A body to be validated, like a find's."""

    query: str
    limit: int = 10


def make_app(size: int) -> FastAPI:
    """Return an app whose POST /find answers about `size` bytes of JSON."""
    app = FastAPI()
    hit = {"uri": "viking://resources/area/topic/00000.md", "score": 0.5, "abstract": "x" * 150}
    hits = [hit] * max(1, size // 230)

    @app.post("/find")
    async def find(question: Question) -> dict[str, Any]:
        return {"status": "ok", "result": {"resources": hits, "total": question.limit}}

    return app


if __name__ == "__main__":
    uvicorn.run(make_app(int(sys.argv[2])), port=int(sys.argv[1]), log_level="warning")
