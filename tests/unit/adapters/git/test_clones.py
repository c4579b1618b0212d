import asyncio
import os
import socket
from pathlib import Path

import pytest

from contextfind.adapters.git.clones import clone
from contextfind.adapters.git.origins import Origin, origin_of
from contextfind.domain.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    UnavailableError,
)
from tests.repositories import make_repository

PATIENCE = 30.0  # seconds; git on the loopback needs a tenth of one


@pytest.fixture
def kettle(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "kettle", {"a.md": "old"}, {"a.md": "new", "b/c.md": "more"})


def origin(folder: Path) -> Origin:
    return origin_of(folder.as_uri())


async def test_the_newest_files_come_without_their_history(kettle: Path, tmp_path: Path) -> None:
    await clone(origin(kettle), tmp_path / "copy", PATIENCE)
    assert (tmp_path / "copy/a.md").read_text() == "new"
    assert (tmp_path / "copy/b/c.md").read_text() == "more"
    assert (tmp_path / "copy/.git/shallow").exists()


async def test_templates_and_hooks_of_the_user_are_not_run(
    kettle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = tmp_path / "template/hooks/post-checkout"
    hook.parent.mkdir(parents=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f"[init]\n\ttemplateDir = {tmp_path}/template\n[core]\n\thooksPath = {hook.parent}\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", f"{tmp_path}/template")
    await clone(origin(kettle), tmp_path / "copy", PATIENCE)
    assert not (tmp_path / "ran").exists()


async def test_it_works_inside_a_hook_of_another_repository(
    kettle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    await clone(origin(kettle), tmp_path / "copy", PATIENCE)
    assert (tmp_path / "copy/a.md").exists()


async def test_what_is_not_there_is_said_in_the_words_of_git(tmp_path: Path) -> None:
    with pytest.raises(
        UnavailableError, match=r"could not clone file://.*/gone: .*does not appear"
    ):
        await clone(origin(tmp_path / "gone"), tmp_path / "copy", PATIENCE)


async def test_no_password_is_shown(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        refused = origin_of(f"http://ann:secret@127.0.0.1:{port}/kettle")
        with pytest.raises(UnavailableError) as said:
            await clone(refused, tmp_path / "copy", PATIENCE)
    assert "secret" not in str(said.value)
    assert f"127.0.0.1:{port}/kettle" in str(said.value)


async def test_a_transport_that_runs_programs_is_refused_by_git_too(tmp_path: Path) -> None:
    evil = Origin(f"ext::touch% {tmp_path}/ran", "evil", "evil")
    with pytest.raises(UnavailableError, match="ext"):
        await clone(evil, tmp_path / "copy", PATIENCE)
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def silent() -> "socket.socket":
    """A server that takes connections and says nothing."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


async def test_a_server_that_hangs_ends_in_time_and_leaves_no_process(
    tmp_path: Path, silent: socket.socket
) -> None:
    with silent:
        hung = origin_of(f"git://127.0.0.1:{silent.getsockname()[1]}/kettle")
        with pytest.raises(DeadlineExceededError, match=r"more than 0\.3 s for git://127"):
            await clone(hung, tmp_path / "copy", 0.3)
    assert children() == []


async def test_a_cancelled_clone_leaves_no_process(tmp_path: Path, silent: socket.socket) -> None:
    with silent:
        hung = origin_of(f"git://127.0.0.1:{silent.getsockname()[1]}/kettle")
        task = asyncio.create_task(clone(hung, tmp_path / "copy", PATIENCE))
        connection, _ = await asyncio.to_thread(silent.accept)
        with connection:
            assert children()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert children() == []


async def test_without_git_the_message_says_so(
    kettle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FailedPreconditionError, match="git is not installed"):
        await clone(origin(kettle), tmp_path / "copy", PATIENCE)


def children() -> list[str]:
    """Return the children of this process that are git's."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = entry.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if int(rest.split()[1]) == os.getpid() and name.startswith("git"):
            found.append(name)
    return found
