"""Containers of the image, run as compose.yaml runs them, by Docker or podman."""

import json
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import yaml

from tests.house.reading import ROOT
from tests.processes import free_port

PATIENCE = 60.0  # seconds; a start takes two or three on an idle machine
KEY = "image-key-0123456789abcdef0123456789abcdef"


def find_engine() -> str:
    """Return `docker` or `podman`, whichever can run something; empty if none can."""
    for name in ("docker", "podman"):
        if shutil.which(name) is None:
            continue
        told = subprocess.run([name, "info"], capture_output=True, check=False)  # noqa: S603
        if told.returncode == 0:
            return name
    return ""


def hardening() -> list[str]:
    """Return the options of `run` that stand for what compose.yaml says of the service."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    service: dict[str, Any] = yaml.safe_load(text)["services"]["contextfind"]
    options = ["--read-only", "--init"]
    assert service["read_only"] is service["init"] is True
    options += [f"--tmpfs={each}" for each in service["tmpfs"]]
    options += [f"--cap-drop={each.lower()}" for each in service["cap_drop"]]
    options += [f"--security-opt={each.removesuffix(':true')}" for each in service["security_opt"]]
    return [*options, f"--pids-limit={service['pids_limit']}"]


@dataclass(frozen=True, slots=True)
class Container:
    """One that runs, and the address at which this machine reaches it."""

    engine: "Engine"
    name: str
    url: str

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Return what a command inside it says."""
        return self.engine.say("exec", self.name, *command)

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=PATIENCE
        )

    def wait(self) -> float:
        """Return after how many seconds it is ready; fails with its log if it never is."""
        began = time.monotonic()
        while (passed := time.monotonic() - began) < PATIENCE:
            try:
                if httpx.get(f"{self.url}/ready", timeout=5).status_code == 200:
                    return passed
            except httpx.TransportError:
                pass
            time.sleep(0.1)  # noqa: TID251 - a test that polls a process
        raise AssertionError(f"not ready after {PATIENCE:.0f} s: {self.log()}")

    def stop(self) -> int:
        """Return its exit code after SIGTERM and the 30 s of compose.yaml."""
        self.engine.say("stop", "--time", "30", self.name)
        told = self.engine.say("inspect", "--format", "{{.State.ExitCode}}", self.name)
        return int(told.stdout)

    def log(self) -> str:
        told = self.engine.say("logs", self.name)
        return told.stdout + told.stderr


@dataclass(frozen=True, slots=True)
class Engine:
    """docker or podman, and the image."""

    program: str
    image: str

    def say(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            [self.program, *arguments], capture_output=True, text=True, check=False, timeout=120
        )

    def described(self) -> dict[str, Any]:
        """Return what `inspect` says of the image."""
        (described,) = json.loads(self.say("image", "inspect", self.image).stdout)
        return dict(described)

    def health_check(self) -> list[str]:
        """Return the command of the image's health check; the two engines keep it in two places."""
        described = self.described()
        check = described.get("Healthcheck") or described["Config"]["Healthcheck"]
        kind, *command = check["Test"]
        assert kind == "CMD"
        return command

    @contextmanager
    def volume(self) -> Iterator[str]:
        """Lend an empty volume."""
        name = f"contextfind-test-{uuid.uuid4().hex[:12]}"
        assert self.say("volume", "create", name).returncode == 0
        try:
            yield name
        finally:
            self.say("volume", "rm", "--force", name)

    @contextmanager
    def running(self, volume: str, environment: Sequence[str] = ()) -> Iterator[Container]:
        """Run one on a volume; it is removed at the end, the volume stays."""
        name, port = f"contextfind-test-{uuid.uuid4().hex[:12]}", free_port()
        settings = [f"--env={setting}" for setting in (f"CONTEXTFIND_API_KEY={KEY}", *environment)]
        places = [f"--volume={volume}:/data", f"--publish=127.0.0.1:{port}:1933"]
        begun = self.say(
            *("run", "--detach", "--name", name, *hardening()), *settings, *places, self.image
        )
        try:
            assert begun.returncode == 0, begun.stderr
            yield Container(self, name, f"http://127.0.0.1:{port}")
        finally:
            self.say("rm", "--force", "--volumes", name)
