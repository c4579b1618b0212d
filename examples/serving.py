"""A contextfind server of one's own for a while, and the few HTTP calls one needs to talk to it.

Used by the demo and by the benchmarks: a real process, a random key, a folder of its own.
"""

import io
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

START_SECONDS = 60.0  # a cold disk and two busy cores; normally it answers within two
STOP_SECONDS = 30.0  # what a server may take to write its index down
POLL_SECONDS = 0.2
CALL_SECONDS = 120.0  # one find, or the upload of one archive


class ServerFailedError(Exception):
    """The server did not start, or answered an error; the message is for people."""


class Server:
    """A `contextfind serve` process with its data below `folder`; a context manager.

    settings: further environment, for example CONTEXTFIND_EMBEDDING__PROVIDER.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.key = secrets.token_hex(24)
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = folder / "server.log"
        self._folder, self._settings = folder, dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start it and return when /health answers."""
        command = [
            str(Path(sys.executable).with_name("contextfind")),
            "serve",
            "--host=127.0.0.1",
            f"--port={self.url.rpartition(':')[2]}",
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program, no input from outside
                command, cwd=self._folder, env=self._environment(), stdout=log, stderr=log
            )
        try:
            self._wait_until_healthy(self._process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _environment(self) -> dict[str, str]:
        # Whatever the caller's own server is configured with must not leak into this one.
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CONTEXTFIND_", "OPENVIKING_"))
        }
        return {
            **kept,
            "HOME": str(self._folder),
            "CONTEXTFIND_API_KEY": self.key,
            **self._settings,
        }

    def _wait_until_healthy(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                raise ServerFailedError(f"the server ended at once:\n{self.last_words()}")
            try:
                if httpx.get(f"{self.url}/health", timeout=2, trust_env=False).is_success:
                    return
            except httpx.TransportError:
                pass  # not listening yet
            time.sleep(POLL_SECONDS)
        raise ServerFailedError(f"no answer within {START_SECONDS:.0f} s:\n{self.last_words()}")

    def last_words(self) -> str:
        """Return the end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])

    def _stop(self) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Api:
    """The HTTP API with a bearer token; a context manager."""

    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        # trust_env: a proxy of the environment has no business between us and loopback.
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=CALL_SECONDS, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def call(self, method: str, path: str, **request: Any) -> Any:
        """Return the `result` of one call.

        Raises:
            ServerFailedError: the server answered an error, or not at all.

        """
        try:
            answer = self._http.request(method, path, **request)
            body = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise ServerFailedError(f"{method} {path}: {error!r}") from error
        if body.get("status") != "ok":
            failure = body.get("error") or {}
            raise ServerFailedError(
                f"{method} {path}: {failure.get('code')}: {failure.get('message')}"
            )
        return body.get("result")

    def find(self, query: str, **fields: object) -> list[dict[str, Any]]:
        """Return the hits of a find, best first, whatever shelf they stand on."""
        result = self.call("POST", "/api/v1/search/find", json={"query": query, **fields})
        hits = [*result["memories"], *result["resources"], *result["skills"]]
        return sorted(hits, key=lambda hit: (-hit["score"], hit["uri"]))

    def add(
        self,
        archive: bytes,
        to: str,
        watch: Callable[[dict[str, Any]], None],
        tags: Sequence[str] = (),
    ) -> Any:
        """Upload a zip as the tree below `to`; return the task's result when all can be found.

        watch: is shown the task every now and then. tags: for every file of it.
        """
        name = to.rpartition("/")[2]
        file = {"file": (f"{name}.zip", archive, "application/zip")}
        upload = self.call("POST", "/api/v1/resources/temp_upload", files=file)
        wanted: dict[str, object] = {
            "temp_file_id": upload["temp_file_id"],
            "source_name": name,
            "to": to,
            "create_parent": True,
            "wait": False,
        }
        if tags:
            wanted["tags"] = list(tags)
        accepted = self.call("POST", "/api/v1/resources", json=wanted)
        while True:
            task = self.call("GET", f"/api/v1/tasks/{accepted['task_id']}")
            watch(task)
            if task["status"] == "completed":
                return task.get("result")
            if task["status"] in ("failed", "cancelled"):
                raise ServerFailedError(f"adding to {to} {task['status']}: {task.get('error')}")
            time.sleep(POLL_SECONDS)


def free_port() -> int:
    """Return a loopback port that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def zip_of(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of (relative path, bytes)."""
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files:
            archive.writestr(path, data)
    return blob.getvalue()


def zip_of_folder(folder: Path) -> bytes:
    """Return a zip of everything below `folder`, paths relative to it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return zip_of((path.relative_to(folder).as_posix(), path.read_bytes()) for path in files)
