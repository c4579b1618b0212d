"""`doctor --deep`: whatever is damaged is found and told with what to do; `reindex` puts right what can be."""

import asyncio
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from contextfind.adapters.files.lock import DirectoryLock
from contextfind.adapters.sqlite.database import FILE_NAME
from contextfind.cli.deep import check_data
from contextfind.config.load import load_settings
from contextfind.config.model import Settings
from contextfind.config.storage import StorageSettings
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.wiring import House
from contextfind.wiring.findings import Finding, Verdict
from tests.damage import cut, flip, spoil_pages
from tests.schemas import directory_only
from tests.unit.cli.calling import call

pytestmark = directory_only  # damaged files of one; a database checks its own pages

HASHED = {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash"}
ACCOUNTS = ("acme", "bolt")
PADDING = "padding " * 300


def settings_of(directory: Path) -> Settings:
    """Return settings of a data directory."""
    return Settings(storage=StorageSettings(path=str(directory)))


def text(account: str, number: int) -> str:
    return f"# {account} {number}\n\n{account}-{number}q {PADDING}\n"


async def _fill(directory: Path) -> None:
    given = {"storage.path": str(directory), "embedding.provider": "hash"}
    async with House.open(load_settings(None, {}, given).settings) as house:
        for account in ACCOUNTS:
            who = Identity(account, "ann")
            for number in range(8):
                uri = Uri(f"viking://resources/d/f{number}.md")
                await house.writer.write(who, uri, text(account, number), "create")
            await house.settling.settle(None, None, 60)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "data"
    asyncio.run(_fill(directory))
    return directory


@pytest.fixture
def data(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "data")


def bytes_of(directory: Path) -> dict[str, bytes]:
    files = (file for file in directory.rglob("*") if file.is_file())
    return {str(file.relative_to(directory)): file.read_bytes() for file in files}


def changed(data: Path, statement: str) -> None:
    with closing(sqlite3.connect(data / FILE_NAME)) as connection:
        connection.execute(statement)
        connection.commit()


def blob(data: Path, account: str, number: int) -> Path:
    wanted = text(account, number).encode()
    blobs = (file for file in (data / "blobs").rglob("*") if file.is_file())
    return next(file for file in blobs if file.read_bytes() == wanted)


def failures(data: Path) -> list[Finding]:
    return [finding for finding in check_data(settings_of(data)) if finding.verdict is Verdict.FAIL]


def test_data_that_are_whole_are_told_of_and_left_as_they_are(data: Path) -> None:
    before = bytes_of(data)
    findings = check_data(settings_of(data))
    assert {finding.verdict for finding in findings} == {Verdict.OK}
    lines = {finding.what: finding.line for finding in findings}
    assert lines["database"].endswith("all pages whole")
    assert lines["account acme"] == lines["account bolt"] == "10 texts whole, 38 passages"
    assert lines["index"] == "24 records, as in the database"
    assert lines["blobs"].startswith("20 named, ")
    after = bytes_of(data)
    assert {name for name in after if name not in before} <= {
        "contextfind.lock",
        f"{FILE_NAME}-shm",  # of a reader; the log is empty
        f"{FILE_NAME}-wal",
    }
    assert {name: after[name] for name in before if name in after} == {
        name: before[name] for name in before if name in after
    }


def lose_blob(data: Path) -> None:
    blob(data, "bolt", 3).unlink()


def damage_blob(data: Path) -> None:
    flip(blob(data, "bolt", 3), 40)


def empty_blob(data: Path) -> None:
    blob(data, "bolt", 3).write_bytes(b"")


def damage_blob_that_another_was_made_from(data: Path) -> None:
    text_of_f3 = "SELECT content FROM records WHERE account = 'bolt' AND uri LIKE '%f3.md'"
    earlier = "account = 'acme' AND uri LIKE '%f1.md'"
    changed(data, f"UPDATE records SET source = ({text_of_f3}) WHERE {earlier}")  # noqa: S608 - fixed text
    damage_blob(data)


def original(data: Path, what: bytes, records: str) -> Path:
    """Have records say that they were made from something, and return where it is kept, if it is."""
    digest = hashlib.sha256(what).hexdigest()
    changed(data, f"UPDATE records SET source = '{digest}' WHERE {records}")  # noqa: S608 - fixed text
    return data / "blobs" / digest[:2] / digest[2:]


def damage_original(data: Path) -> None:
    kept = original(data, b"an old picture", "account = 'acme' AND uri LIKE '%f1.md'")
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(b"an old pictur")


def lose_vectors(data: Path) -> None:
    changed(data, "DELETE FROM vectors WHERE rowid = 2")


def damage_vector(data: Path) -> None:
    no_number = "cast(x'0000c07f' || substr(vector, 5) AS BLOB)"
    changed(data, f"UPDATE vectors SET vector = {no_number} WHERE rowid = 2")  # noqa: S608 - fixed text


def shorten_vector(data: Path) -> None:
    changed(data, "UPDATE vectors SET vector = substr(vector, 9) WHERE rowid = 2")


def lose_record(data: Path) -> None:
    changed(data, "DELETE FROM records WHERE account = 'bolt' AND uri LIKE '%f3.md'")


def spoil_row(data: Path) -> None:
    changed(data, "UPDATE records SET tags = '[' WHERE account = 'bolt' AND uri LIKE '%f3.md'")


def spoil_page(data: Path) -> None:
    assert spoil_pages(data / FILE_NAME, b"bolt-7q padding") > 0


def no_database(data: Path) -> None:
    (data / FILE_NAME).write_bytes(b"no database at all" * 999)


def lose_log(data: Path) -> None:
    changed(data, "DELETE FROM log WHERE record = 3")


def lose_table(data: Path) -> None:
    changed(data, "DROP INDEX passages_by_digest")


def damage_segment(data: Path) -> None:
    flip(next((data / "index").glob("*.segment")), 500)


def cut_manifest(data: Path) -> None:
    cut(data / "index" / "manifest.json")


def older_database(data: Path) -> None:
    changed(data, "DELETE FROM log WHERE position > (SELECT min(position) FROM log)")


def newer_schema(data: Path) -> None:
    changed(data, "PRAGMA user_version = 99")


@pytest.mark.parametrize(
    ("damage", "what", "line", "step"),
    [
        (lose_blob, "account bolt", "texts of 1 files are lost, the first is viking://resources/d/f3.md", "add or write"),
        (damage_blob, "account bolt", "texts of 1 files are damaged", "add or write them again"),
        (empty_blob, "account bolt", "texts of 1 files are damaged", "restore"),
        (damage_blob_that_another_was_made_from, "account bolt", "texts of 1 files are damaged", "restore"),
        (damage_original, "account acme", "what the texts of 1 files were made from is damaged", "add or write"),
        (lose_vectors, "account acme", "1 passages without a vector", "start the server"),
        (damage_vector, "account acme", "1 passages with a damaged vector", "reindex"),
        (shorten_vector, "account acme", "1 passages with a damaged vector", "reindex"),
        (lose_record, "database", "rows of passages belong to nothing", "start the server"),
        (spoil_row, "account bolt", "is damaged", "contextfind restore"),
        (spoil_page, "account bolt", "contextfind.db is damaged", "contextfind restore"),
        (no_database, "database", "file is not a database", "contextfind restore"),
        (lose_log, "log", "1 records are not in the log", "start the server"),
        (lose_table, "database", "without passages_by_digest", "contextfind restore"),
        (damage_segment, "index", "is not what was written", "contextfind reindex"),
        (cut_manifest, "index", "the search index is damaged", "contextfind reindex"),
        (older_database, "index", "the log ends at", "contextfind reindex"),
        (newer_schema, "database", "its schema is 99", "the contextfind that wrote it"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_found_with_what_to_do(
    data: Path, damage: Callable[[Path], None], what: str, line: str, step: str
) -> None:
    damage(data)
    found = [finding for finding in failures(data) if finding.what == what]
    assert any(line in one.line and step in one.next_step for one in found), failures(data)


def test_only_what_is_kept_counts_as_a_blob_with_a_name(data: Path) -> None:
    original(data, b"a prompt", "level = 1")  # what an author was told is no blob
    original(data, b"a text in another encoding", "account = 'acme' AND uri LIKE '%f1.md'")
    lines = {finding.what: finding.line for finding in check_data(settings_of(data))}
    named, _, loose, *_ = lines["blobs"].split()
    assert named == "20"
    assert lines["account acme"] == "10 texts whole, 38 passages"
    kept = original(data, b"a prompt", "level = 1")
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(b"a prompt")
    lines = {finding.what: finding.line for finding in check_data(settings_of(data))}
    assert lines["blobs"].startswith(f"20 named, {int(loose) + 1} that nobody names")


def test_the_other_account_is_looked_at_all_the_same(data: Path) -> None:
    spoil_page(data)
    findings = {finding.what: finding for finding in check_data(settings_of(data))}
    assert findings["account acme"].verdict is Verdict.OK
    assert findings["account acme"].line == "10 texts whole, 38 passages"
    assert (
        findings["account bolt"].line
        == "contextfind.db is damaged (database disk image is malformed)"
    )
    assert "blobs" not in findings  # their names could not be read


def test_an_account_that_is_whole_can_be_taken_out_of_damaged_data(
    data: Path, tmp_path: Path
) -> None:
    spoil_page(data)
    file, new = tmp_path / "acme.jsonl", tmp_path / "new"
    taken = call("export", str(file), "--account", "acme", "--data", str(data), env=HASHED)
    assert taken.exit_code == 0, taken.stderr
    brought = call("import", str(file), "--data", str(new), env=HASHED)
    assert brought.exit_code == 0, brought.stderr
    lines = {finding.what: finding.line for finding in check_data(settings_of(new))}
    assert lines["account acme"].startswith("10 texts whole, 38 passages")
    all_of_it = call("export", str(tmp_path / "all.jsonl"), "--data", str(data), env=HASHED)
    assert all_of_it.exit_code == 1
    assert "contextfind.db is damaged" in all_of_it.stderr


def test_texts_that_wait_and_an_index_that_is_behind_are_fine(data: Path) -> None:
    changed(data, "UPDATE passages SET pending = 1 WHERE id < 3")
    changed(data, "INSERT OR REPLACE INTO log (record) VALUES (3)")
    lines = [finding.line for finding in check_data(settings_of(data))]
    assert failures(data) == []
    assert "10 texts whole, 38 passages, 2 wait for a vector" in lines
    assert any("1 changes behind the log" in line for line in lines)


def test_a_command_that_opens_the_data_says_the_same(data: Path) -> None:
    no_database(data)
    result = call("compact", "--data", str(data), env=HASHED)
    assert result.exit_code == 1
    assert "contextfind.db is damaged (file is not a database); stop the server" in result.stderr
    assert "look closer" not in result.stderr


def test_data_in_use_are_not_looked_at(data: Path) -> None:
    with DirectoryLock(data):
        (finding,) = check_data(settings_of(data))
    assert finding.verdict is Verdict.FAIL
    assert "in use" in finding.line


def test_no_data_is_no_failure(tmp_path: Path) -> None:
    (finding,) = check_data(settings_of(tmp_path / "none"))
    assert finding.verdict is Verdict.OK
    assert not (tmp_path / "none").exists()


def test_the_command_tells_what_it_found_and_fails(data: Path) -> None:
    damage_segment(data)
    result = call("doctor", "--deep", "--data", str(data), "--json", env=HASHED)
    assert result.exit_code == 1
    told = {finding["what"]: finding for finding in json.loads(result.stdout)}
    assert told["index"]["verdict"] == "fail"
    assert told["account acme"]["verdict"] == "ok"
    assert "reading the accounts" in result.stderr


def lose_overview(data: Path) -> None:
    with closing(sqlite3.connect(data / FILE_NAME)) as connection:
        (digest,) = connection.execute(
            "SELECT content FROM records WHERE level = 1 AND account = 'acme' AND content <> ''"
        ).fetchone()
    flip(data / "blobs" / digest[:2] / digest[2:], 3)


@pytest.mark.parametrize(
    ("damage", "repaired"),
    [
        (damage_segment, {}),
        (cut_manifest, {}),
        (lose_record, {"passages without a record": 1}),
        (lose_vectors, {"passages without a vector": 1}),
        (damage_vector, {"records with damaged vectors": 1}),
        (shorten_vector, {"records with damaged vectors": 1}),
        (lose_log, {"records missing in the log": 1}),
        (lose_overview, {"directories whose overview was lost": 1}),
    ],
)
def test_reindex_puts_it_right_and_a_start_does_the_rest(
    data: Path, damage: Callable[[Path], None], repaired: dict[str, int]
) -> None:
    damage(data)
    assert failures(data)
    result = call("reindex", "--data", str(data), "--json", env=HASHED)
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["repaired"] == repaired
    assert told["records"] == (23 if damage is lose_record else 24)
    assert failures(data) == []
    asyncio.run(_settle(data))
    assert failures(data) == []
    assert not any("wait for a vector" in finding.line for finding in check_data(settings_of(data)))


async def _settle(directory: Path) -> None:
    given = {"storage.path": str(directory), "embedding.provider": "hash"}
    async with House.open(load_settings(None, {}, given).settings) as house:
        settled = await house.settling.settle(None, None, 60)
        assert (settled.texts, settled.directories) == (0, 0)


def test_reindex_embeds_everything_again_when_asked_to(data: Path) -> None:
    changed(data, "UPDATE vectors SET vector = zeroblob(length(vector))")
    result = call("reindex", "--vectors", "--data", str(data), env=HASHED)
    assert result.exit_code == 0, result.stderr
    assert "the index is built: 24 records" in result.stderr
    with closing(sqlite3.connect(data / FILE_NAME)) as connection:
        rows = connection.execute("SELECT count(*) FROM vectors").fetchone()
        zeros = connection.execute(
            "SELECT count(*) FROM vectors WHERE vector = zeroblob(length(vector))"
        ).fetchone()
    assert rows > (0,)
    assert zeros == (0,)
    assert failures(data) == []


def test_reindex_leaves_data_in_use_alone(data: Path) -> None:
    with DirectoryLock(data):
        result = call("reindex", "--data", str(data), "--json", env=HASHED)
    assert result.exit_code == 3
    assert "in use" in json.loads(result.stdout)["error"]["message"]


def test_reindex_makes_no_directory(tmp_path: Path) -> None:
    result = call("reindex", "--data", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert not (tmp_path / "none").exists()
