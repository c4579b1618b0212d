"""The server as a process that is watched: start time, CPU, memory of it and of what it starts."""

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from examples.serving import Api, ServerFailedError, free_port

HASH_EMBEDDER = {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash"}  # instant: the model is not measured
START_SECONDS = 600.0  # a million records from scratch, on a machine that does other things
STOP_SECONDS = 600.0  # what a server may take to write its index down
POLL_SECONDS = 0.02  # start times are exact to this; more often would cost the server's cores
SAMPLE_SECONDS = 0.5
QUIET_SECONDS, QUIET_SHARE = (
    4.0,
    0.03,
)  # so long, less than so much of a core: nothing is being built
_TICKS = os.sysconf("SC_CLK_TCK")
_MIB = 1024  # /proc counts in KiB


@dataclass(frozen=True, slots=True)
class Keys:
    """What a server is opened with, the same in every run on one data directory."""

    user: str
    root: str

    @classmethod
    def fresh(cls) -> Self:
        """Return keys that nobody knows."""
        return cls(secrets.token_hex(24), secrets.token_hex(24))


class Watched:
    """A `contextfind serve` on `folder/data`, whose process is looked at; a context manager.

    settings: further environment, for example CONTEXTFIND_INDEX__GRAPHS.
    """

    def __init__(self, folder: Path, keys: Keys, settings: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.keys = keys
        self.log = folder / "server.log"
        self.healthy_after = 0.0  # seconds from the start of the process to /health
        self.peak_mib = 0.0  # of it and all it started, as sampled
        self._folder, self._settings = folder, dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._done = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    @property
    def pid(self) -> int:
        """Of the server itself."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        """Start it and return when /health answers."""
        command = [*program(), "serve", "--host=127.0.0.1", f"--port={self.port}"]
        environment = environment_of(self._folder, self.keys, self._settings)
        begun = time.perf_counter()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program, no input from outside
                command, cwd=self._folder, env=environment, stdout=log, stderr=log
            )
        try:
            self._wait_until_healthy(begun + START_SECONDS)
        except BaseException:
            self._stop()
            raise
        self.healthy_after = time.perf_counter() - begun
        self._sampler.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._sampler.is_alive():
            self._sampler.join()
        self._stop()

    @contextmanager
    def api(self) -> Iterator[Api]:
        """Return calls with the default account's key."""
        with Api(self.url, self.keys.user) as api:
            yield api

    def cpu_seconds(self) -> float:
        """Return what it and everything it started has used of a core."""
        return cpu_seconds(self.pid)

    def resident_mib(self) -> dict[str, float]:
        """Return `rss` and `anonymous` (without mapped files) of the server, `peak` (VmHWM), in MiB."""
        read = _status(self.pid)
        names = {"rss": "VmRSS", "anonymous": "RssAnon", "peak": "VmHWM"}
        return {name: round(read.get(line, 0) / _MIB, 1) for name, line in names.items()}

    def settle(self, longest: float = 7_200.0) -> float:
        """Wait until it does nothing any more; return the seconds until that began."""
        begun = time.monotonic()
        while time.monotonic() - begun < longest:
            before, since = self.cpu_seconds(), time.monotonic()
            wait(QUIET_SECONDS)
            used = (self.cpu_seconds() - before) / (time.monotonic() - since)
            if used < QUIET_SHARE:
                break
        return max(0.0, time.monotonic() - begun - QUIET_SECONDS)

    def _sample(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            family = _family(self.pid)
            # Mapped files are shared: those of the server count, those of its children are the same.
            total = _status(self.pid).get("VmRSS", 0)
            total += sum(_status(pid).get("RssAnon", 0) for pid in family[1:])
            self.peak_mib = max(self.peak_mib, round(total / _MIB, 1))

    def _wait_until_healthy(self, end: float) -> None:
        assert self._process is not None
        with httpx.Client(base_url=self.url, timeout=5, trust_env=False) as client:
            while time.perf_counter() < end:
                if self._process.poll() is not None:
                    raise ServerFailedError(f"the server ended at once:\n{self._last_words()}")
                try:
                    if client.get("/health").is_success:
                        return
                except httpx.TransportError:
                    wait(POLL_SECONDS)
        raise ServerFailedError(f"no answer within {START_SECONDS:.0f} s:\n{self._last_words()}")

    def _last_words(self) -> str:
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


def program() -> list[str]:
    """Return the command that is measured."""
    return [str(Path(sys.executable).with_name("contextfind"))]


def environment_of(folder: Path, keys: Keys, settings: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which nothing of the caller's own server shows."""
    foreign = ("CONTEXTFIND_", "OPENVIKING_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {
        **kept,
        "HOME": str(folder),
        "CONTEXTFIND_DATA": str(folder / "data"),
        "CONTEXTFIND_API_KEY": keys.user,
        "CONTEXTFIND_ROOT_API_KEY": keys.root,
        **HASH_EMBEDDER,
        **settings,
    }


def cpu_seconds(pid: int) -> float:
    """Return what a process and everything it started has used of a core."""
    ended = sum(_cpu_fields(pid)[2:])
    return (ended + sum(sum(_cpu_fields(one)[:2]) for one in _family(pid))) / _TICKS


def size_mib(folder: Path) -> float:
    """Return what the files below a directory take on the disk, in MiB."""
    blocks = 0
    for path in folder.rglob("*"):
        try:
            blocks += path.lstat().st_blocks
        except FileNotFoundError:  # the server is at work
            continue
    return round(blocks * 512 / 2**20, 1)


def wait(seconds: float) -> None:
    """Wait for another process."""
    time.sleep(seconds)  # noqa: TID251 - nothing else runs here


def _family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _stat(int(entry.name))
            if fields:
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def _cpu_fields(pid: int) -> list[int]:
    """Return user and system ticks of a process, and of its children that ended."""
    fields = _stat(pid)
    return [int(one) for one in fields[11:15]] if fields else [0, 0, 0, 0]


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the third on; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _status(pid: int) -> dict[str, int]:
    """Return the lines of /proc/PID/status that count kibibytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    pairs = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): int(value) for name, value, _ in pairs}
