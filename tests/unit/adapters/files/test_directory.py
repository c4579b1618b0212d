"""Directories as sources: what is read, and what never is."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from contextfind.adapters.files.directory import DirectorySource, SingleFileSource
from contextfind.domain.errors import (
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
)

NOBODY = 65_534


def nothing(_: str) -> bool:
    return False


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Return a directory that any user may enter, and be a user who may not enter everything."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        (directory / "secret.md").write_bytes(b"x")
        (directory / "secret.md").chmod(0)
        (directory / "open.md").write_bytes(b"y")
        (directory / "closed").mkdir(mode=0)
        (directory / "dim").mkdir()
        (directory / "dim" / "unseen.md").write_bytes(b"z")
        (directory / "dim").chmod(0o444)  # its names can be listed, and nothing more
        was = os.geteuid()
        if was == 0:
            os.seteuid(NOBODY)
        yield directory
        os.seteuid(was)
        (directory / "closed").chmod(0o700)
        (directory / "dim").chmod(0o700)


async def test_links_are_left_out_and_never_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (root / "a.md").write_bytes(b"a")
    (root / "link.md").symlink_to(outside / "secret")
    (root / "door").symlink_to(outside)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe")
    source = DirectorySource(root)
    assert [entry.path for entry in await source.entries(nothing)] == ["a.md"]
    wanted = ["link.md", "door/secret", "../outside/secret", str(outside / "secret"), "pipe", "."]
    for answer in await source.read(wanted):
        assert isinstance(answer, NotFoundError)


async def test_a_file_that_became_a_link_after_the_listing_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "d" / "a.md").write_bytes(b"a")
    (root / "b.md").write_bytes(b"b")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_bytes(b"secret")
    source = DirectorySource(root)
    await source.entries(nothing)
    (root / "d" / "a.md").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(outside)
    (root / "b.md").unlink()
    (root / "b.md").symlink_to(outside / "a.md")
    for answer in await source.read(["d/a.md", "b.md"]):
        assert isinstance(answer, NotFoundError)


async def test_what_vanished_after_the_listing_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"a")
    source = DirectorySource(tmp_path)
    await source.entries(nothing)
    (tmp_path / "a.md").unlink()
    (answer,) = await source.read(["a.md"])
    assert isinstance(answer, NotFoundError)


async def test_a_file_that_vanishes_during_the_walk_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/x.md", "b.md", "c.md"):
        (tmp_path / name).write_bytes(b"x")

    def vanish(path: str) -> bool:
        assert path == "a"
        (tmp_path / "b.md").unlink()
        return False

    source = DirectorySource(tmp_path)
    assert [entry.path for entry in await source.entries(vanish)] == ["a/x.md", "c.md"]


async def test_a_file_that_may_not_be_looked_at_is_named_not_taken_for_gone(
    open_directory: Path,
) -> None:
    source = DirectorySource(open_directory)
    with pytest.raises(InvalidArgumentError, match=r"'dim/unseen.md'.*ignore_dirs"):
        await source.entries(lambda path: path == "closed")
    found = await source.entries(lambda path: path in ("closed", "dim"))
    assert [entry.path for entry in found] == ["open.md", "secret.md"]


async def test_a_file_without_permission_is_its_own_error(open_directory: Path) -> None:
    source = DirectorySource(open_directory)
    await source.entries(lambda path: path in ("closed", "dim"))
    closed, opened = await source.read(["secret.md", "open.md"])
    assert isinstance(closed, PermissionDeniedError)
    assert "secret.md" in str(closed)
    assert opened == b"y"


async def test_a_directory_without_permission_is_named_not_taken_for_empty(
    open_directory: Path,
) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'closed'.*ignore_dirs"):
        await DirectorySource(open_directory).entries(lambda path: path == "dim")


async def test_a_directory_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        await DirectorySource(tmp_path / "none").entries(nothing)
    with pytest.raises(NotFoundError):
        await SingleFileSource(tmp_path / "none").entries(nothing)


async def test_names_in_another_encoding_are_made_readable(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode("发布.md".encode("gb18030"))).write_bytes(b"x")
    source = DirectorySource(tmp_path)
    assert [entry.path for entry in await source.entries(nothing)] == ["发布.md"]
    assert await source.read(["发布.md"]) == [b"x"]


def test_a_source_is_called_as_its_directory_or_as_told(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    assert DirectorySource(tmp_path / "docs" / ".." / "docs").name == "docs"
    assert DirectorySource(tmp_path, "handbook").name == "handbook"
    assert SingleFileSource(tmp_path / "a.md", "x/../b.md").name == "b.md"
