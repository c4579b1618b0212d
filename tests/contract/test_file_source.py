"""What every source of files promises."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from contextfind.adapters.files.archive import ZipSource
from contextfind.adapters.files.directory import DirectorySource, SingleFileSource
from contextfind.adapters.memory.sources import MemorySource
from contextfind.domain.errors import NotFoundError
from contextfind.ports.sources import FileSource, SourceEntry

Maker = Callable[[Mapping[str, bytes]], FileSource]
FILES = {
    "readme.md": b"# hi",
    "b/c/deep.md": b"deep",
    "b/a.md": b"",
    "b.md": b"\x00\xff",
    "文档/发布 说明.md": "发布".encode(),
}


def nothing(_: str) -> bool:
    return False


@pytest.fixture(params=["memory", "directory", "zip"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Maker:
    def directory(files: Mapping[str, bytes]) -> FileSource:
        for path, data in files.items():
            (tmp_path / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "docs" / path).write_bytes(data)
        return DirectorySource(tmp_path / "docs")

    def archive(files: Mapping[str, bytes]) -> FileSource:
        with zipfile.ZipFile(tmp_path / "docs.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("b/", b"")
            for path, data in files.items():
                packed.writestr(path, data)
        return ZipSource(tmp_path / "docs.zip")

    makers: dict[str, Maker] = {"memory": MemorySource, "directory": directory, "zip": archive}
    return makers[request.param]


@pytest.fixture(params=["memory", "file"])
def single(request: pytest.FixtureRequest, tmp_path: Path) -> FileSource:
    if request.param == "memory":
        return MemorySource({"a.md": b"text"}, "a.md", single=True)
    (tmp_path / "upload_1").write_bytes(b"text")
    return SingleFileSource(tmp_path / "upload_1", "a.md")


async def test_every_file_is_listed_with_its_size_sorted_by_path(make: Maker) -> None:
    found = await make(FILES).entries(nothing)
    assert list(found) == [SourceEntry(path, len(FILES[path])) for path in sorted(FILES)]


async def test_bytes_come_in_the_order_asked(make: Maker) -> None:
    source = make(FILES)
    await source.entries(nothing)
    assert await source.read(["readme.md", "b.md", "readme.md"]) == [b"# hi", b"\x00\xff", b"# hi"]
    assert await source.read([]) == []


async def test_what_is_not_there_is_an_error_in_its_place(make: Maker) -> None:
    lost, good = await make(FILES).read(["none.md", "readme.md"])
    assert isinstance(lost, NotFoundError)
    assert good == b"# hi"


async def test_a_pruned_directory_is_left_out_whole(make: Maker) -> None:
    asked: list[str] = []

    def prune(path: str) -> bool:
        asked.append(path)
        return path == "b"

    found = await make(FILES).entries(prune)
    assert [entry.path for entry in found] == ["b.md", "readme.md", "文档/发布 说明.md"]
    assert sorted(set(asked)) == ["b", "文档"]


async def test_names_are_nfc_and_readable_by_that_name(make: Maker) -> None:
    source = make({"cafe\u0301/e\u0301.md": b"x"})
    (entry,) = await source.entries(nothing)
    assert entry.path == "caf\u00e9/\u00e9.md"
    assert await source.read([entry.path]) == [b"x"]


async def test_a_tree_has_a_name_and_is_not_single(make: Maker) -> None:
    source = make(FILES)
    assert (source.name, source.single) == ("docs", False)


async def test_a_single_file_has_one_entry_called_as_itself(single: FileSource) -> None:
    assert (single.name, single.single) == ("a.md", True)
    assert list(await single.entries(lambda _: True)) == [SourceEntry("a.md", 4)]
    text, lost = await single.read(["a.md", "b.md"])
    assert text == b"text"
    assert isinstance(lost, NotFoundError)
