"""The real server in a process of its own, on a free loopback port."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.schemas import storage_environment

START_SECONDS = 60.0  # about two on an idle machine
# tests of other packages run in environments without ours
PYTHON = os.environ.get("CONTEXTFIND_TEST_PYTHON", sys.executable)


def free_port() -> int:
    """Return a loopback port that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """`contextfind serve` on a data directory; killed at the end if it still runs.

    program: the module that is run, with the arguments of `contextfind`.
    """

    def __init__(
        self,
        data: Path,
        *arguments: str,
        embedder: str = "hash",
        port: int | None = None,
        program: str = "contextfind.cli",
    ) -> None:
        self.data = data
        self.port = free_port() if port is None else port
        self.url = f"http://127.0.0.1:{self.port}"
        self._program = program
        self._arguments = [*arguments, "--embedder", embedder]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed on exit
        self.process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(base_url=self.url, timeout=60)

    def start(self, environment: Mapping[str, str] | None = None) -> Self:
        """Start and return at once."""
        command = [PYTHON, "-m", self._program, "serve", *self._arguments]
        command += ["--data", str(self.data), "--port", str(self.port)]
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **storage_environment(self.data), **(environment or {})},
        )
        return self

    def wait_healthy(self) -> float:
        """Return after how many seconds /health answered."""
        started = time.monotonic()
        while time.monotonic() - started < START_SECONDS:
            assert self.process is not None
            assert self.process.poll() is None, self.output()
            try:
                if self.http.get("/health", timeout=1).status_code == 200:
                    return time.monotonic() - started
            except httpx.TransportError:
                time.sleep(0.02)  # noqa: TID251 - a test waits for another process
        raise AssertionError(f"not healthy in {START_SECONDS} s:\n{self.output()}")

    def kill(self) -> None:
        """Kill -9."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self, seconds: float = 60.0) -> int:
        """Terminate politely and return the exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(seconds)

    def output(self) -> str:
        """Return what it has printed so far."""
        self._output.seek(0)
        return self._output.read().decode("utf-8", "replace")

    def call(self, method: str, path: str, **arguments: Any) -> Any:
        """Return `result` of a request that must succeed."""
        answer = self.http.request(method, path, **arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    def find(self, query: str, **fields: object) -> list[dict[str, Any]]:
        """Return the hits of a find, best first."""
        result = self.call("POST", "/api/v1/search/find", json={"query": query, **fields})
        hits = result["memories"] + result["resources"] + result["skills"]
        return sorted(hits, key=lambda hit: -float(hit["score"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self.http.close()
        self._output.close()


@contextmanager
def killed_after(
    server: ServerProcess, acknowledged: Sized, acknowledgements: int
) -> Iterator[None]:
    """Kill the server with -9 as soon as so much was acknowledged of what is done inside."""

    def kill_when_due() -> None:
        while len(acknowledged) < acknowledgements:
            time.sleep(0.002)  # noqa: TID251 - a test waits for another process
        server.kill()

    killer = threading.Thread(target=kill_when_due)
    killer.start()
    yield
    killer.join()
