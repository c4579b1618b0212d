"""A real HTTP server that reranks on the loopback, in every dialect, with faults to order."""

import json
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.stubs.embedder import Fault
from tests.stubs.loopback import Loopback, Reply, refuse, whole

Score = Callable[[str, str], float | None]


@dataclass(frozen=True)
class Asked:
    """A request as it came.

    content: the bytes of the body.
    """

    path: str
    headers: Mapping[str, str]
    content: bytes
    body: Mapping[str, object]

    @property
    def query(self) -> str:
        """What the texts are judged by."""
        if "datas" in self.body:
            return str(self._datas()[0]["query"])
        return str(self._inner().get("query"))

    @property
    def texts(self) -> list[str]:
        """What was to be judged."""
        if "datas" in self.body:
            return [str(one["content"]) for one in self._datas()]
        texts = self._inner().get("documents", self.body.get("texts"))
        assert isinstance(texts, list)
        return texts

    @property
    def top_n(self) -> object:
        """How many scores are wanted; None where that is not said."""
        parameters = self.body.get("parameters", self.body)
        assert isinstance(parameters, dict)
        return parameters.get("top_n")

    def _inner(self) -> Mapping[str, object]:
        inner = self.body.get("input", self.body)
        assert isinstance(inner, dict)
        return inner

    def _datas(self) -> list[dict[str, object]]:
        datas = self.body["datas"]
        assert isinstance(datas, list)
        return datas


class StubReranker(Loopback):
    """Judges every text by the first marker in it; a text with none of them gets 0.

    scores: marker -> score, tried in order; None leaves the text out of the answer. judge: asked
    instead of `scores` when it is set. logits: answers with log odds. shuffled: answers in reverse.
    longest: characters; a request with a longer text is refused with 400, and so is one with a
    blank text. needs_top_n: refuses a request that does not ask for all its texts, where the
    dialect can say so. key: the only one that is let in.
    faults: used up in order, one a request. always: then, and for ever, this one.
    """

    def __init__(self) -> None:
        self.scores: dict[str, float | None] = {}
        self.judge: Score | None = None
        self.logits = False
        self.shuffled = False
        self.longest: int | None = None
        self.needs_top_n = True
        self.key: str | None = None
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.requests: list[Asked] = []
        super().__init__()

    def prefer(self, *markers: str) -> None:
        """Judge perfectly: texts with the first marker are best, and so on, evenly from 1 down."""
        self.scores = {marker: 1 - at / (len(markers) + 1) for at, marker in enumerate(markers)}

    def score(self, query: str, text: str) -> float | None:
        """Return what a text gets, None for no answer."""
        if self.judge is not None:
            return self.judge(query, text)
        return next((score for marker, score in self.scores.items() if marker in text), 0.0)

    def take(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[float, Callable[[], Reply]]:
        """Note the request and the fault that it gets."""
        asked = Asked(path, headers, content, json.loads(content))
        self.requests.append(asked)
        fault = self.faults.popleft() if self.faults else self.always or Fault()
        return fault.delay, lambda: whole(self._right_or_wrong(asked, fault), fault.cut)

    def _right_or_wrong(self, asked: Asked, fault: Fault) -> Reply:
        if fault.raw is not None:
            return fault.status, fault.headers, fault.raw
        if fault.status != 200:
            return refuse(fault.status, fault.reason, fault.headers)
        if self.key is not None and asked.headers.get("Authorization") != f"Bearer {self.key}":
            return refuse(401, "invalid key")
        reason = self._refused(asked)
        if reason:
            return refuse(400, reason)
        scored = [(at, self.score(asked.query, text)) for at, text in enumerate(asked.texts)]
        right: list[dict[str, object]] = [
            {"index": at, "relevance_score": _log_odds(score) if self.logits else score}
            for at, score in scored
            if score is not None
        ]
        if self.shuffled:
            right.reverse()
        right = fault.spoil(right) if fault.spoil else right
        return 200, {}, json.dumps(_shape(asked, right)).encode()

    def _refused(self, asked: Asked) -> str:
        texts = asked.texts
        if not asked.query.strip() or not all(text.strip() for text in texts):
            return "blank text"
        if self.longest is not None and max(map(len, texts)) > self.longest:
            return f"input must have less than {self.longest} tokens"
        can_say = "documents" in asked.body or "input" in asked.body
        if self.needs_top_n and can_say and asked.top_n != len(texts):
            return "top_n is missing"
        return ""


def _log_odds(score: float) -> float:
    inside = min(max(score, 1e-9), 1 - 1e-9)
    return math.log(inside / (1 - inside))


def _shape(asked: Asked, right: list[dict[str, object]]) -> object:
    """Return the answer in the dialect of the question."""
    if "datas" in asked.body:
        return {"code": 0, "message": "success", "data": {"scores": _in_place(asked, right)}}
    if "texts" in asked.body:
        return [{"index": one["index"], "score": one["relevance_score"]} for one in right]
    if "input" in asked.body:
        return {"output": {"results": right}, "request_id": "r"}
    return {"id": "r", "results": right}


def _in_place(asked: Asked, right: list[dict[str, object]]) -> list[object]:
    """Return the scores by position, null for those that are missing."""
    by_index = {one["index"]: one["relevance_score"] for one in right}
    return [by_index.get(at) for at in range(len(asked.texts))]


@contextmanager
def stub_reranker() -> Iterator[StubReranker]:
    """Yield a server that is closed afterwards."""
    stub = StubReranker()
    try:
        yield stub
    finally:
        stub.close()
