"""Shallow clones, made by the program git without asking anybody anything."""

import asyncio
import contextlib
import os
import re
import signal
from pathlib import Path

from contextfind.adapters.git.origins import SCHEMES, Origin
from contextfind.domain.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    UnavailableError,
)

_TOLD = 2_000  # bytes of what git says last that are kept
_SETTINGS = (
    *("-c", f"core.hooksPath={os.devnull}"),  # nothing that came along is run
    *("-c", "core.fsmonitor=false"),
    *("-c", "credential.interactive=false"),
)
_OPTIONS = (
    *("--quiet", "--depth=1", "--single-branch", "--no-tags"),
    *("--no-recurse-submodules", "--template="),
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),  # also for what a server redirects to
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
# Set inside hooks and aliases of git: they would lead it to another repository than the new one.
_LEFT_OUT = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_TEMPLATE_DIR"),
)


async def clone(origin: Origin, into: Path, seconds: float) -> None:
    """Fetch the newest files of a repository's default branch into a directory that is not there yet.

    Submodules are left out, and files in LFS stay pointers. Nobody is asked for a password: keys of an
    ssh agent and stored credentials are used. Cancelled or out of time, git and its children are ended.

    Raises:
        UnavailableError: git could not; the message is git's, without user and password.
        DeadlineExceededError: it took longer than `seconds`.
        FailedPreconditionError: git is not installed.

    """
    command = ["git", *_SETTINGS, "clone", *_OPTIONS, "--", origin.url, str(into)]
    inherited = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=inherited | _ENVIRONMENT,
            start_new_session=True,  # no terminal to ask at, and one group to end
        )
    except FileNotFoundError:
        raise FailedPreconditionError(
            "git is not installed, or not on the PATH; install it, or add a directory that is there"
        ) from None
    try:
        async with asyncio.timeout(seconds):
            said = await _last_of(process)
            code = await process.wait()
    except TimeoutError:
        raise DeadlineExceededError(
            f"git needed more than {seconds:g} s for {origin.shown}"
        ) from None
    finally:
        await _end(process)
    if code != 0:
        raise UnavailableError(f"git could not clone {origin.shown}: {_reason(said, code)}")


async def _last_of(process: asyncio.subprocess.Process) -> bytes:
    """Return the end of what git says, however much that is."""
    said = b""
    if process.stderr is not None:
        while more := await process.stderr.read(65_536):
            said = (said + more)[-_TOLD:]
    return said


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the whole group, should it still run."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(process.wait())


def _reason(said: bytes, code: int) -> str:
    text = said.decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    faults = [line.partition(": ")[2] for line in lines if line.startswith(("fatal: ", "error: "))]
    told = "; ".join((faults or lines)[-3:]) or f"exit code {code}"
    return re.sub(r"://[^/\s@]*@", "://", told)
