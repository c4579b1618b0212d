"""Data directories as disks and crashes leave them: what can be repaired is, the rest is said, nobody else is hit."""

# ruff: noqa: N802 - a test is named after its case

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.config.model import EmbeddingSettings
from contextfind.domain.errors import DamagedError, FailedPreconditionError
from tests.api.caller import error_of, result_of
from tests.api.living import Tenant, Town, living, town
from tests.backends import lose_body
from tests.damage import cut, flip, spoil_pages
from tests.schemas import directory_only
from tests.stubs.embedder import stub_embedder

NOTES = "viking://resources/notes"
PADDING = "padding " * 300  # more than half a page of the database: accounts share none
SECONDS = 30.0  # until something behind the requests is done; below one on an idle machine


def note(number: int) -> str:
    return f"# Note {number}\n\nAll about marker{number}q and its harbour.\n"


def uri(number: int) -> str:
    return f"{NOTES}/n{number}.md"


async def filled(data: Path, count: int = 6) -> None:
    async with living(data) as http:
        await Tenant(http).fill({uri(number): note(number) for number in range(count)})


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not done():  # noqa: ASYNC110 - nothing tells when a log line is written
            await asyncio.sleep(0.01)


def blob_of(data: Path, text: str) -> Path:
    """Return the file that holds a text."""
    (found,) = [
        file
        for file in (data / "blobs").rglob("*")
        if file.is_file() and file.read_bytes() == text.encode()
    ]
    return file_in(found)


def file_in(path: Path) -> Path:
    assert path.is_file()
    return path


def changed(data: Path, statement: str, *values: str) -> None:
    """Do to the database what no program of ours would."""
    with closing(sqlite3.connect(data / FILE_NAME)) as connection:
        assert connection.execute(statement, values).rowcount > 0
        connection.commit()


def value(data: Path, query: str) -> Any:
    with closing(sqlite3.connect(data / FILE_NAME)) as connection:
        return connection.execute(query).fetchone()[0]


async def check_all_found(me: Tenant, count: int = 6) -> None:
    for number in range(count):
        found = await me.uris(query=f"marker{number}q", limit=3, level=2)
        assert found[0] == uri(number)


@directory_only
async def test_R109_a_passage_without_its_vector_is_embedded_again_and_hides_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await filled(tmp_path)
    changed(
        tmp_path,
        "DELETE FROM vectors WHERE digest = (SELECT digest FROM passages JOIN records r"
        " ON r.id = record WHERE r.uri = ?)",
        uri(3),
    )
    caplog.set_level(logging.INFO)
    async with living(tmp_path) as http:
        me = Tenant(http)
        where = {"op": "prefix", "field": "uri", "prefix": NOTES}
        assert len(await me.hits(query="harbour", filter=where, level=2)) == 6
        await until(lambda: "repaired: 1 passages without a vector" in caplog.text)
        await me.settled()
        await check_all_found(me)
    assert value(tmp_path, "SELECT count(*) FROM passages WHERE pending = 1") == 0
    assert value(tmp_path, "SELECT count(DISTINCT digest) FROM passages") == value(
        tmp_path, "SELECT count(*) FROM vectors"
    )


@directory_only
async def test_R109_passages_whose_record_is_gone_are_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await filled(tmp_path)
    changed(tmp_path, "DELETE FROM records WHERE uri = ?", uri(3))
    async with living(tmp_path) as http:
        me = Tenant(http)
        found = await me.uris(query="harbour", level=2)
        assert sorted(found) == [uri(number) for number in (0, 1, 2, 4, 5)]
        await until(lambda: "repaired: 1 passages without a record" in caplog.text)
    dangling = "SELECT count(*) FROM passages WHERE record NOT IN (SELECT id FROM records)"
    assert value(tmp_path, dangling) == 0


async def test_a_file_whose_blob_is_gone_says_so_and_comes_back_with_its_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await filled(tmp_path)
    await asyncio.to_thread(lose_body, tmp_path, note(3).encode())
    async with living(tmp_path) as http:
        me = Tenant(http)
        await until(lambda: f"the texts of 1 files are lost, the first is {uri(3)}" in caplog.text)
        told = error_of(await me.get("content/read", uri=uri(3)), 503, "UNAVAILABLE")
        assert "write it again" in told["message"]
        assert told["details"] == {"resource": uri(3), "retryable": False}
        await check_all_found(me)  # by its passages
        hits = await me.hits(query="marker3q", read_content=True, level=2)
        assert "content" not in hits[0]
        await me.write(uri(3), note(3))
        assert result_of(await me.get("content/read", uri=uri(3))) == note(3)


@directory_only
async def test_a_damaged_blob_is_never_given_out_and_comes_back_with_its_text(
    tmp_path: Path,
) -> None:
    await filled(tmp_path)
    flip(blob_of(tmp_path, note(3)), 9)
    async with living(tmp_path) as http:
        me = Tenant(http)
        error_of(await me.get("content/read", uri=uri(3)), 503, "UNAVAILABLE")
        append = {"uri": uri(3), "content": "more\n", "mode": "append"}
        error_of(await me.post("/api/v1/content/write", append), 503, "UNAVAILABLE")
        await me.write(uri(3), note(3))
        assert result_of(await me.get("content/read", uri=uri(3))) == note(3)


@directory_only
async def test_the_lost_summary_of_a_directory_is_written_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with living(tmp_path) as http:
        me = Tenant(http)
        await me.fill({uri(number): note(number) for number in range(3)})
        overview = result_of(await me.get("content/overview", uri=NOTES))
    assert overview
    blob_of(tmp_path, overview).unlink()
    async with living(tmp_path) as http:
        me = Tenant(http)
        await until(lambda: "repaired: 1 directories whose overview was lost" in caplog.text)
        await me.settled()
        assert result_of(await me.get("content/overview", uri=NOTES)) == overview


@directory_only
async def test_a_tree_that_is_added_again_brings_lost_texts_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with living(tmp_path) as http:
        await Tenant(http).upload("n0.md", note(0).encode(), to=uri(0))
    blob_of(tmp_path, note(0)).unlink()
    async with living(tmp_path) as http:
        me = Tenant(http)
        await until(lambda: "the texts of 1 files are lost" in caplog.text)
        await me.upload("n0.md", note(0).encode(), to=uri(0))
        assert result_of(await me.get("content/read", uri=uri(0))) == note(0)


def every_file(index: Path, suffix: str) -> list[Path]:
    files = [file for file in index.iterdir() if file.suffix == suffix]
    assert files
    return files


def flip_segments(index: Path) -> None:
    for file in every_file(index, ".segment"):
        flip(file, file.stat().st_size // 2)


def cut_segments(index: Path) -> None:
    for file in every_file(index, ".segment"):
        cut(file)


def delete_segments(index: Path) -> None:
    for file in every_file(index, ".segment"):
        file.unlink()


def delete_manifest(index: Path) -> None:
    (index / "manifest.json").unlink()


def cut_manifest(index: Path) -> None:
    cut(index / "manifest.json")


@pytest.mark.parametrize(
    "damage", [flip_segments, cut_segments, delete_segments, delete_manifest, cut_manifest]
)
@directory_only
async def test_R056_a_damaged_index_is_built_anew_from_the_store_and_said_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    await filled(tmp_path)
    damage(tmp_path / "index")
    async with living(tmp_path) as http:
        me = Tenant(http)
        await check_all_found(me)
        result = result_of(await me.post("/api/v1/content/reindex", {"uri": "viking://"}))
        assert result["failed_records"] == 0
        await check_all_found(me)
    lines = [one.getMessage() for one in caplog.records if "is built anew" in one.getMessage()]
    assert len(lines) == 1, caplog.text


@directory_only
async def test_a_write_ahead_log_cut_in_the_middle_gives_what_was_before_and_the_index_agrees(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, killed = tmp_path / "data", tmp_path / "killed"
    async with living(data) as http:
        me = Tenant(http)
        await me.fill({uri(number): note(number) for number in range(2)})
        with closing(sqlite3.connect(data / FILE_NAME)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        await me.fill({uri(number): note(number) for number in range(2, 6)})
        killed.mkdir()
        for name in (FILE_NAME, f"{FILE_NAME}-wal"):
            (killed / name).write_bytes((data / name).read_bytes())
        blobs = {file: file.read_bytes() for file in (data / "blobs").rglob("*") if file.is_file()}
    for file, blob in blobs.items():
        place = killed / file.relative_to(data)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(blob)
    (data / "index").rename(killed / "index")  # it followed all six
    cut(killed / f"{FILE_NAME}-wal")
    async with living(killed) as http:
        me = Tenant(http)
        await me.settled()
        there = [entry["uri"] for entry in result_of(await me.get("fs/ls", uri=NOTES))]
        assert there[:2] == [uri(0), uri(1)]
        assert len(there) < 6
        assert sorted(await me.uris(query="harbour", level=2)) == there
        for number in range(len(there)):
            assert result_of(await me.get("content/read", uri=uri(number))) == note(number)
        await me.write(uri(7), note(7))
    assert "it is built anew" in caplog.text


@pytest.mark.parametrize("left", ["nothing", "empty"])
@directory_only
async def test_a_database_that_is_gone_is_not_replaced_by_an_empty_one(
    tmp_path: Path, left: str
) -> None:
    await filled(tmp_path)
    before = sorted((tmp_path / "blobs").rglob("*"))
    (tmp_path / FILE_NAME).unlink()
    if left == "empty":
        (tmp_path / FILE_NAME).touch()
    with pytest.raises(FailedPreconditionError, match="restore"):
        async with living(tmp_path):
            pytest.fail("it was opened")
    assert sorted((tmp_path / "blobs").rglob("*")) == before
    assert (tmp_path / FILE_NAME).exists() == (left == "empty")


@directory_only
async def test_a_file_that_is_no_database_is_told_with_what_to_do(tmp_path: Path) -> None:
    await filled(tmp_path)
    (tmp_path / FILE_NAME).write_bytes(b"something else" * 1_000)
    with pytest.raises(DamagedError, match="doctor --deep"):
        async with living(tmp_path):
            pytest.fail("it was opened")
    assert (tmp_path / FILE_NAME).read_bytes().startswith(b"something else")


async def test_R060_vectors_of_4096_numbers_are_found_before_and_after_a_restart(
    tmp_path: Path,
) -> None:
    with stub_embedder(4_096) as stub:
        remote = {"provider": "openai", "model": "m", "api_base": stub.base_url}
        embedding = EmbeddingSettings.model_validate(remote)
        for start in range(2):
            async with living(tmp_path, embedding=embedding) as http:
                me = Tenant(http)
                if start == 0:
                    await me.fill({uri(number): note(number) for number in range(3)})
                found = await me.uris(query="harbour", level=2)
                assert sorted(found) == [uri(number) for number in range(3)]
                status = result_of(await me.get("system/status"))
                assert status["counts"]["files"] == 3
                assert status["embedder"]["dimension"] == 4_096
                assert status["backlog"] == {"texts": 0, "directories": 0}


async def two_accounts(place: Town, files: int = 30) -> tuple[Tenant, Tenant]:
    acme, bolt = await place.tenant("acme"), await place.tenant("bolt")
    for name, tenant in (("acme", acme), ("bolt", bolt)):
        texts = {uri(n): f"# {name} {n}\n\n{name}-{n}q {PADDING}\n" for n in range(files)}
        await tenant.fill(texts)
    # The last page of a table is where everybody's next row goes.
    await acme.fill({f"{NOTES}/late{n}.md": f"late {PADDING}" for n in range(9)})
    return acme, bolt


@directory_only
async def test_R115_damaged_blobs_of_one_account_leave_the_other_alone(tmp_path: Path) -> None:
    async with town(tmp_path) as place:
        acme, bolt = await two_accounts(place, 4)
    for file in (tmp_path / "blobs").rglob("*"):
        if file.is_file() and b"bolt" in file.read_bytes():
            flip(file, 0)
    async with town(tmp_path) as place:
        acme, bolt = Tenant(place.http, acme.key), Tenant(place.http, bolt.key)
        assert "acme-2q" in result_of(await acme.get("content/read", uri=uri(2)))
        error_of(await bolt.get("content/read", uri=uri(2)), 503, "UNAVAILABLE")
        assert (await bolt.uris(query="bolt-2q", level=2))[0] == uri(2)


@directory_only
async def test_R115_damaged_pages_of_one_account_leave_the_other_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with town(tmp_path) as place:
        acme, bolt = await two_accounts(place)
    (tmp_path / "index" / "manifest.json").unlink()  # nothing answers from an older state
    assert spoil_pages(tmp_path / FILE_NAME, b"bolt-7q padding") > 0
    async with town(tmp_path) as place:
        acme, bolt = Tenant(place.http, acme.key), Tenant(place.http, bolt.key)
        for number in (0, 7, 29):
            assert (await acme.uris(query=f"acme-{number}q", level=2))[0] == uri(number)
            assert f"acme-{number}q" in result_of(await acme.get("content/read", uri=uri(number)))
        await acme.write(uri(40), "# New\n\nacme-40q\n")
        assert (await acme.uris(query="acme-40q", level=2))[0] == uri(40)
        assert (await bolt.uris(query="bolt-20q", level=2))[0] == uri(20)
        for answer in (
            await bolt.find(query="bolt-7q", level=2),
            await bolt.get("content/read", uri=uri(7)),
            await bolt.post(
                "/api/v1/content/write", {"uri": uri(7), "content": "x", "mode": "replace"}
            ),
        ):
            if answer.status_code != 200:
                told = error_of(answer, 503, "UNAVAILABLE")
                assert "contextfind doctor --deep" in told["message"]
                assert told["details"]["retryable"] is False
    assert "cannot be read and are not found any more" in caplog.text
