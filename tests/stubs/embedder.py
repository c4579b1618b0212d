"""A real HTTP server with `/v1/embeddings` on the loopback, and faults to order."""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from tests.stubs.loopback import Loopback, Reply, refuse, whole

Data = list[dict[str, object]]


@dataclass(frozen=True)
class Fault:
    """What one request gets instead of the right answer.

    status, reason, headers: a refusal. raw: these bytes as the body. delay: seconds before
    anything is sent; a server that is closed stops waiting. spoil: changes `data` of a right answer.
    cut: the connection is reset after so many bytes of the body.
    """

    status: int = 200
    reason: str = "made to fail"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    delay: float = 0.0
    spoil: Callable[[Data], Data] | None = None
    cut: int | None = None


@dataclass(frozen=True)
class Recorded:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]

    @property
    def texts(self) -> list[str]:
        """What was to be embedded; anything but a text as JSON."""
        inputs = self.body["input"]
        assert isinstance(inputs, list)
        return [one if isinstance(one, str) else json.dumps(one) for one in inputs]


class StubEmbedder(Loopback):
    """Answers with fixed vectors that depend on the text alone.

    same: inputs (pictures as JSON) that get the vector of another one.
    faults: used up in order, one a request. always: then, and for ever, this one.
    longest: characters; a request with a longer text is refused. dimensions: False = the field is
    refused, None = ignored.
    """

    def __init__(self, dimension: int = 8, longest: int | None = None) -> None:
        self.dimension = dimension
        self.longest = longest
        self.dimensions: bool | None = True
        self.same: dict[str, str] = {}
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.requests: list[Recorded] = []
        super().__init__()

    def vector(self, text: str, dimension: int | None = None) -> list[float]:
        """Return the vector of a text, not of unit length."""
        text = self.same.get(text, text)
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        row = np.random.default_rng(seed).normal(size=self.dimension)
        return [float(value) for value in row[: dimension or self.dimension] * 3]

    def take(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[float, Callable[[], Reply]]:
        """Note the request and the fault that it gets."""
        request = Recorded(path, headers, json.loads(content))
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else self.always or Fault()
        return fault.delay, lambda: whole(self._right_or_wrong(request, fault), fault.cut)

    def _right_or_wrong(self, request: Recorded, fault: Fault) -> Reply:
        if fault.raw is not None:
            return fault.status, fault.headers, fault.raw
        if fault.status != 200:
            return refuse(fault.status, fault.reason, fault.headers)
        if self.longest is not None and any(len(text) > self.longest for text in request.texts):
            return refuse(400, f"maximum context length is {self.longest} tokens")
        wanted = request.body.get("dimensions")
        if wanted is not None and self.dimensions is False:
            return refuse(400, "This model does not support specifying dimensions.")
        size = wanted if isinstance(wanted, int) and self.dimensions else None
        data: Data = [
            {"object": "embedding", "index": at, "embedding": self.vector(text, size)}
            for at, text in enumerate(request.texts)
        ]
        data = fault.spoil(data) if fault.spoil else data
        return 200, {}, json.dumps({"object": "list", "data": data}).encode()


@contextmanager
def stub_embedder(dimension: int = 8, longest: int | None = None) -> Iterator[StubEmbedder]:
    """Yield a server that is closed afterwards."""
    stub = StubEmbedder(dimension, longest)
    try:
        yield stub
    finally:
        stub.close()
