import asyncio
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contextfind.adapters.files.lock import DirectoryLock
from contextfind.config.load import load_settings
from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.transfer.manifest import manifest_text, read_manifest
from contextfind.wiring import House
from contextfind.wiring.backups import take_backup
from contextfind.wiring.housekeeping import compact, open_rooms
from tests.builders import NOON
from tests.schemas import directory_only
from tests.unit.cli.calling import call, error_of

pytestmark = directory_only  # a backup copies files; databases have tools of their own for it

ME = Identity("default", "default")
NOTES = [Uri(f"viking://resources/n{number}.md") for number in range(5)]


def text(number: int) -> str:
    return f"# Note {number}\n\nThe quokka number {number} sleeps below the harbour crane.\n"


async def _filled(directory: Path) -> None:
    given = {"storage.path": str(directory), "embedding.provider": "hash"}
    async with House.open(load_settings(None, {}, given).settings) as house:
        for number, uri in enumerate(NOTES):
            await house.writer.write(ME, uri, text(number), "create")
        await house.uploads.put(ME, "later.md", b"an upload that waits")
        await house.settling.settle(None, None, 30)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory that holds `data` and a whole backup of it, `saved`."""
    directory = tmp_path_factory.mktemp("backups")
    asyncio.run(_filled(directory / "data"))
    done = call("backup", str(directory / "saved"), "--data", str(directory / "data"))
    assert done.exit_code == 0, done.stderr
    return directory


@pytest.fixture
def place(full: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a copy of it; a backup stays one of the same data, since links lead there."""
    (tmp_path / "data").symlink_to(full / "data")
    shutil.copytree(full / "saved", tmp_path / "saved")
    yield tmp_path
    assert not (full / "data" / "contextfind.pid").exists()


async def _without_first(directory: Path) -> None:
    """Delete a note, and take away what nobody names then."""
    settings = load_settings(
        None, {}, {"storage.path": str(directory), "embedding.provider": "hash"}
    ).settings
    async with House.open(settings) as house:
        await house.writer.remove(ME, NOTES[0], recursive=False)
    async with open_rooms(settings) as storage:
        with pytest.raises(UnavailableError, match="a backup is being taken"):
            await compact(storage, NOON)


def test_what_is_deleted_and_swept_meanwhile_is_in_it_all_the_same(place: Path) -> None:
    data = place / "other"
    shutil.copytree(place / "data", data)
    stages = []

    def told(stage: str, done: int, total: int, _unit: str) -> None:
        if stage == "database" and done == total:  # no blob was copied yet
            asyncio.run(_without_first(data))
        stages.append(stage)

    saved = take_backup(data, place / "mine", NOON, told)
    assert set(stages) == {"database", "files"}
    assert saved.manifest.damaged == []
    call("restore", str(place / "mine"), "--data", str(place / "new"))
    assert text(0).encode() in wanted(place / "new").values()
    assert call("compact", "--data", str(data)).exit_code == 0
    assert text(0).encode() not in wanted(data).values()


def files(directory: Path) -> dict[str, bytes]:
    return {
        file.relative_to(directory).as_posix(): file.read_bytes()
        for file in sorted(directory.rglob("*"))
        if file.is_file() and file.name not in {"contextfind.lock", "backup.lock", "sweep.lock"}
    }


def wanted(data: Path) -> dict[str, bytes]:
    """Return the files of a data directory that are the same bytes after a restore."""
    return {
        name: content for name, content in files(data).items() if not name.startswith("contextfind")
    }


def test_a_restored_directory_holds_the_same_files(place: Path) -> None:
    result = call("restore", str(place / "saved"), "--data", str(place / "new"), "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["counts"]["accounts"] == 1
    assert told["damaged"] == []
    assert wanted(place / "new").items() <= wanted(place / "data").items()  # that has loose blobs
    assert {text(number).encode() for number in range(5)} <= set(wanted(place / "new").values())
    assert {name.partition("/")[0] for name in files(place / "new")} == {
        "blobs",
        "contextfind.db",
        "index",
        "uploads",
    }


def test_a_second_backup_copies_only_what_is_new(place: Path) -> None:
    blobs = {
        file: file.stat().st_ino for file in (place / "saved/blobs").rglob("*") if file.is_file()
    }
    (place / "saved/blobs/ab").mkdir(exist_ok=True)
    (place / "saved/blobs/ab/left").write_bytes(b"by a backup before")
    result = call("backup", str(place / "saved"), "--data", str(place / "data"), "--json")
    assert result.exit_code == 0, result.stderr
    shares = json.loads(result.stdout)["shares"]
    assert set(shares) == {"database", "blobs", "index", "uploads"}
    assert shares["blobs"]["files"] == len(blobs)
    assert shares["blobs"]["copied_files"] == shares["index"]["copied_files"] == 0
    assert {file: file.stat().st_ino for file in blobs} == blobs
    assert not (place / "saved/blobs/ab/left").exists()
    assert call("restore", str(place / "saved"), "--verify").exit_code == 0


def test_every_flipped_byte_is_found_by_name_and_nothing_is_written(place: Path) -> None:
    for file in sorted((place / "saved").rglob("*")):
        if not file.is_file() or file.name == "backup.lock":
            continue
        whole = file.read_bytes()
        for at in {0, len(whole) // 2, len(whole) - 1}:
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            result = call("restore", str(place / "saved"), "--data", str(place / "new"))
            assert result.exit_code == 1, file
            assert file.relative_to(place / "saved").as_posix() in result.stderr
            assert not (place / "new").exists()
        file.write_bytes(whole)
    assert call("restore", str(place / "saved"), "--data", str(place / "new")).exit_code == 0


def test_a_missing_file_and_a_backup_that_was_not_finished_are_refused(place: Path) -> None:
    blob = next(file for file in (place / "saved/blobs").rglob("*") if file.is_file())
    blob.unlink()
    result = call("restore", str(place / "saved"), "--data", str(place / "new"), "--json")
    assert result.exit_code == 1
    lost = f"{blob.relative_to(place / 'saved').as_posix()} is missing"
    assert lost in error_of(result)["message"]
    (place / "saved/manifest.json").unlink()
    result = call("restore", str(place / "saved"), "--verify")
    assert result.exit_code == 1
    assert "manifest.json is missing, a backup was begun there and not finished" in result.stderr
    assert "there is no backup" in call("restore", str(place / "data"), "--verify").stderr
    assert not (place / "new").exists()


def test_a_directory_with_something_in_it_is_not_restored_into(place: Path) -> None:
    (place / "new").mkdir()
    (place / "new/letter.txt").write_text("mine")
    result = call("restore", str(place / "saved"), "--data", str(place / "new"))
    assert result.exit_code == 3
    assert "is not empty" in result.stderr
    assert [file.name for file in (place / "new").iterdir()] == ["letter.txt"]
    result = call("restore", str(place / "saved"), "--data", str(place / "new/letter.txt"))
    assert result.exit_code == 1
    assert "Not a directory" in result.stderr
    (place / "new/letter.txt").unlink()
    with DirectoryLock(place / "new"):
        result = call("restore", str(place / "saved"), "--data", str(place / "new"))
    assert result.exit_code == 3
    assert "is in use" in result.stderr


def test_an_unfinished_restore_is_opened_by_nobody_and_can_be_run_again(place: Path) -> None:
    (place / "new").mkdir()
    (place / "new/restore.unfinished").touch()
    (place / "new/contextfind.db").touch()
    result = call("compact", "--data", str(place / "new"))
    assert result.exit_code == 3
    assert "a restore into the data directory" in result.stderr
    assert call("restore", str(place / "saved"), "--data", str(place / "new")).exit_code == 0
    assert call("compact", "--data", str(place / "new")).exit_code == 0


def test_a_backup_never_mixes_with_anything_else(place: Path) -> None:
    (place / "letters").mkdir()
    (place / "letters/letter.txt").write_text("mine")
    shutil.copytree(place / "data", place / "other")
    for source, target, told in (
        ("data", "letters", "holds something that is no backup"),
        ("data", "data/within", "cannot lie in it"),
        ("other", "saved", "there is a backup of"),
    ):
        result = call("backup", str(place / target), "--data", str(place / source))
        assert result.exit_code == 3, told
        assert told in result.stderr
    result = call("backup", str(place / "saved"), "--data", str(place / "nothing"))
    assert result.exit_code == 2
    assert "there is no data" in result.stderr


@pytest.mark.parametrize("outside", ["/evil", "../../evil", "blobs/../../evil", "a/./b", ""])
def test_R127_a_backup_that_leads_out_of_the_directory_is_refused(  # noqa: N802 - a case
    place: Path, outside: str
) -> None:
    saved = place / "saved"
    manifest = read_manifest((saved / "manifest.json").read_text())
    listing = saved / manifest.listing.path
    first, *rest = listing.read_text().splitlines(keepends=True)
    lines = json.dumps({**json.loads(first), "to": outside}) + "\n" + "".join(rest)
    listing.write_text(lines)
    sha256 = hashlib.sha256(lines.encode()).hexdigest()
    changed = replace(manifest.listing, size=len(lines), sha256=sha256)
    (saved / "manifest.json").write_text(manifest_text(replace(manifest, listing=changed)))
    result = call("restore", str(saved), "--data", str(place / "new"))
    assert result.exit_code == 1
    assert "the list of files is not what was written" in result.stderr
    assert not (place / "new").exists()
    assert not (place.parent / "evil").exists()


def test_what_the_data_has_lost_is_named_and_the_backup_keeps_it(place: Path) -> None:
    shutil.copytree(place / "data", place / "other")
    blobs = [file for file in (place / "other/blobs").rglob("*") if file.is_file()]
    assert len(blobs) > 2
    assert call("backup", str(place / "mine"), "--data", str(place / "other")).exit_code == 0
    blobs[0].unlink()
    blobs[1].write_bytes(b"damaged")
    kept = call("backup", str(place / "mine"), "--data", str(place / "other"), "--json")
    assert kept.exit_code == 0, kept.stderr
    fresh = call("backup", str(place / "fresh"), "--data", str(place / "other"), "--json")
    assert fresh.exit_code == 1
    lost = sorted(file.relative_to(place / "other").as_posix() for file in blobs[:2])
    assert json.loads(fresh.stdout)["damaged"] == lost
    restored = call("restore", str(place / "fresh"), "--data", str(place / "new"))
    assert restored.exit_code == 0
    assert lost[0] in restored.stderr
