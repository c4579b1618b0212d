"""Zips from honest people, from other systems, and from enemies."""

import io
import stat
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest

from contextfind.adapters.files.archive import ZipLimits, ZipSource
from contextfind.domain.errors import InvalidArgumentError, NotFoundError

BYTES = bytes(range(256)) * 8


def nothing(_: str) -> bool:
    return False


def packed(tmp_path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return tmp_path / "x.zip"


async def paths(source: ZipSource) -> list[str]:
    return [entry.path for entry in await source.entries(nothing)]


def raw_named(tmp_path: Path, name: bytes) -> Path:
    """Return a zip whose only entry has these bytes as its name, without the UTF-8 flag."""
    stand_in = b"n" * len(name)
    path = packed(tmp_path, (stand_in.decode(), b"x"))
    path.write_bytes(path.read_bytes().replace(stand_in, name))
    return path


@pytest.mark.parametrize(
    "name",
    [
        "../evil.md",
        "a/../../evil.md",
        "a/..",
        "/etc/passwd",
        "C:/evil.md",
        "c:evil.md",
        "..\\evil.md",
        "\\\\host\\share",
        "/".join(["d"] * 65),
    ],
)
async def test_paths_that_lead_elsewhere_are_refused_by_name(tmp_path: Path, name: str) -> None:
    source = ZipSource(packed(tmp_path, ("good.md", b""), (name, b"x")))
    with pytest.raises(InvalidArgumentError) as caught:
        await source.entries(nothing)
    assert repr(name.replace("\\", "/")) in str(caught.value)


async def test_a_link_is_refused_by_name(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("innocent.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(InvalidArgumentError, match=r"innocent\.md.*link"):
        await ZipSource(packed(tmp_path, (link, b"/etc/passwd"))).entries(nothing)


async def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path, ("a.md", b"x"))
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    data[central + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(InvalidArgumentError, match=r"a\.md.*encrypted"):
        await ZipSource(path).entries(nothing)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (ZipLimits(files=1), "2 entries"),
        (ZipLimits(total=4_000), "4096 bytes"),
        (ZipLimits(small=1_000, ratio=2), "2 times"),
        (ZipLimits(depth=1), "deeper than 1"),
    ],
)
async def test_limits_are_held(tmp_path: Path, limits: ZipLimits, told: str) -> None:
    file = packed(tmp_path, ("a.md", BYTES), ("d/b.md", BYTES))
    assert len(await ZipSource(file).entries(nothing)) == 2
    with pytest.raises(InvalidArgumentError, match=told):
        await ZipSource(file, limits=limits).entries(nothing)


async def test_a_list_of_a_million_entries_is_not_read(tmp_path: Path) -> None:
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 0, 20, *[0] * 8, 1, *[0] * 6) + b"a"
    listed = entry * 400_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, len(listed), 0, 0)
    (tmp_path / "x.zip").write_bytes(listed + end)
    with pytest.raises(InvalidArgumentError, match="18800000 bytes, 16777216 are allowed"):
        await ZipSource(tmp_path / "x.zip").entries(nothing)


async def test_an_entry_that_lies_about_its_size_gives_no_more_than_it_said(tmp_path: Path) -> None:
    file = packed(tmp_path, ("a.md", bytes(100_000)))
    data = bytearray(file.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 10)
    file.write_bytes(data)
    source = ZipSource(file)
    assert [entry.size for entry in await source.entries(nothing)] == [10]
    (answer,) = await source.read(["a.md"])
    assert isinstance(answer, InvalidArgumentError)


METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@pytest.mark.parametrize("method", METHODS)
async def test_every_usual_way_of_packing_is_read(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", method) as archive:
        archive.writestr("a.md", BYTES)
        archive.writestr("empty.md", b"")
    assert await ZipSource(tmp_path / "x.zip").read(["a.md", "empty.md"]) == [BYTES, b""]


@pytest.mark.parametrize("method", METHODS[1:])
async def test_what_a_lying_entry_holds_is_not_unpacked(tmp_path: Path, method: int) -> None:
    content = bytes(50_000_000)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", method) as archive:
        archive.writestr("a.md", content)
    data = bytearray((tmp_path / "x.zip").read_bytes())
    central = data.index(b"PK\x01\x02")
    struct.pack_into("<II", data, central + 16, zlib.crc32(content[:10]), len(data))
    struct.pack_into("<I", data, central + 24, 10)
    struct.pack_into("<I", data, central + 20, struct.unpack_from("<I", data, 18)[0])
    (tmp_path / "x.zip").write_bytes(data)
    tracemalloc.start()
    try:
        (answer,) = await ZipSource(tmp_path / "x.zip").read(["a.md"])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000  # LZMA has a window of eight million
    assert answer == bytes(10) or isinstance(answer, InvalidArgumentError)


@pytest.mark.parametrize("method", METHODS)
async def test_an_entry_that_is_shorter_than_it_says_is_damaged(
    tmp_path: Path, method: int
) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", method) as archive:
        archive.writestr("a.md", b"")
        archive.writestr("b.md", b"good")
    data = bytearray((tmp_path / "x.zip").read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 19)
    (tmp_path / "x.zip").write_bytes(data)
    bad, good = await ZipSource(tmp_path / "x.zip").read(["a.md", "b.md"])
    assert isinstance(bad, InvalidArgumentError)
    assert "'a.md' is damaged" in str(bad)
    assert good == b"good"


async def test_a_damaged_entry_spoils_only_itself(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("bad.md", b"HERE IS TEXT")
        archive.writestr("good.md", b"good")
    data = (tmp_path / "x.zip").read_bytes()
    (tmp_path / "x.zip").write_bytes(data.replace(b"HERE IS", b"THERE S"))
    bad, good = await ZipSource(tmp_path / "x.zip").read(["bad.md", "good.md"])
    assert isinstance(bad, InvalidArgumentError)
    assert "bad.md" in str(bad)
    assert good == b"good"


async def test_an_unknown_compression_spoils_only_its_entry(tmp_path: Path) -> None:
    file = packed(tmp_path, ("odd.md", b"x"), ("good.md", b"good"))
    data = bytearray(file.read_bytes())
    data[data.index(b"PK\x01\x02") + 10] = 99
    file.write_bytes(data)
    odd, good = await ZipSource(file).read(["odd.md", "good.md"])
    assert isinstance(odd, InvalidArgumentError)
    assert good == b"good"


ELSEWHERE = struct.pack(
    "<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 1_000, 2_000, 0
)  # a list before the file


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04 cut off", ELSEWHERE])
async def test_what_is_no_zip_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(InvalidArgumentError, match="no readable zip"):
        await ZipSource(tmp_path / "x.zip").entries(nothing)


async def test_a_zip_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        await ZipSource(tmp_path / "none.zip").entries(nothing)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("发布.md".encode(), "发布.md"),
        ("发布.md".encode("gb18030"), "发布.md"),
        (b"caf\x82", "café"),
        ("cafe\u0301.md".encode(), "café.md"),
        (b"win\\dows.md", "win/dows.md"),
    ],
)
async def test_names_of_other_systems_are_read(tmp_path: Path, raw: bytes, name: str) -> None:
    source = ZipSource(raw_named(tmp_path, raw))
    assert await paths(source) == [name]
    assert await source.read([name]) == [b"x"]


async def test_directories_dots_and_repeats_are_settled(tmp_path: Path) -> None:
    file = packed(tmp_path, ("top/", b""), ("./top//a.md", b"1"), ("empty/dir/", b""))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("top/a.md", b"2")
    source = ZipSource(file)
    assert await paths(source) == ["top/a.md"]
    assert await source.read(["top/a.md"]) == [b"2"]


async def test_a_file_below_a_file_is_refused(tmp_path: Path) -> None:
    file = packed(tmp_path, ("a/b/c", b""), ("a", b""))
    with pytest.raises(InvalidArgumentError, match="below a file"):
        await ZipSource(file).entries(nothing)


@pytest.mark.parametrize(
    ("given", "name"),
    [(None, "x"), ("docs.ZIP", "docs"), ("handbook", "handbook"), (".zip", ".zip"), ("a/b", "b")],
)
def test_a_tree_is_called_without_zip(tmp_path: Path, given: str | None, name: str) -> None:
    assert ZipSource(tmp_path / "x.zip", given).name == name


async def test_an_empty_zip_is_an_empty_tree(tmp_path: Path) -> None:
    memory = io.BytesIO()
    zipfile.ZipFile(memory, "w").close()
    (tmp_path / "x.zip").write_bytes(memory.getvalue())
    assert await paths(ZipSource(tmp_path / "x.zip")) == []


async def test_an_archive_is_opened_once_however_often_it_is_read(tmp_path: Path) -> None:
    file = packed(tmp_path, ("a.md", b"a"), ("b.md", b"b"))
    source = ZipSource(file)
    await source.entries(nothing)
    file.unlink()  # what is open can be read on
    assert await source.read(["a.md"]) == [b"a"]
    assert await source.read(["b.md"]) == [b"b"]
