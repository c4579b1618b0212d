import asyncio
import io
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from typer.testing import Result

from contextfind.adapters.files.lock import DirectoryLock
from contextfind.cli.pace import Pace, duration
from contextfind.config.load import load_settings
from contextfind.domain.identity import Identity
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import placeholders
from contextfind.transfer.entries import Entry, Header, copy_of
from contextfind.transfer.writer import ExportWriter
from contextfind.wiring import House
from tests.backends import lose_body
from tests.builders import NOON
from tests.schemas import directory_only
from tests.unit.cli.calling import call, error_of

HASH = {"CONTEXTFIND_EMBEDDING__PROVIDER": "hash"}
ME = Identity("default", "default")


async def _fill(directory: Path) -> None:
    settings = load_settings(
        None, HASH, {"storage.path": str(directory), "embedding.provider": "hash"}
    ).settings
    async with House.open(settings) as house:
        for name in ("tea", "soup"):
            uri = Uri.parse(f"viking://resources/kitchen/{name}.md")
            await house.writer.write(ME, uri, f"# {name}\n\nHow to make {name}.\n", "create")
        await house.settling.settle(None, None, 30)


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data directory with two files."""
    directory = tmp_path_factory.mktemp("kitchen")
    asyncio.run(_fill(directory))
    return directory


@pytest.fixture(scope="module")
def file(kitchen: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an export of it."""
    made = tmp_path_factory.mktemp("files") / "data.jsonl.zst"
    result = run("export", str(made), "--data", str(kitchen))
    assert result.exit_code == 0, result.stderr
    return made


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the default data directory is below the one of work


def run(*words: str, **given: Any) -> Result:
    return call(*words, env=HASH, **given)


def lines_of(file: Path) -> list[bytes]:
    """Return the lines of a file but the first, which has a time."""
    data = file.read_bytes()
    if file.suffix == ".zst":
        with zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(data), read_across_frames=True
        ) as plain:
            data = plain.read()
    return data.splitlines()[1:]


def records_of(file: Path) -> list[bytes]:
    return [line for line in lines_of(file) if line.startswith(b'{"record"')]


def test_out_and_in_and_out_again_is_the_same(file: Path, tmp_path: Path) -> None:
    brought = run("import", str(file), "--data", "new", "--json")
    assert brought.exit_code == 0, brought.stderr
    told = json.loads(brought.stdout)
    assert told["records"] == told["written"] == len(records_of(file))
    assert told["vectors"] == told["passages"] > 0
    again = run("export", "again.jsonl.zst", "--data", "new")
    assert again.exit_code == 0, again.stderr
    assert records_of(tmp_path / "again.jsonl.zst") == records_of(file)
    assert f"{told['records']:,} records" in again.stderr
    assert not list(tmp_path.glob("*.part"))


def test_importing_again_changes_nothing(file: Path) -> None:
    run("import", str(file), "--data", "new")
    again = run("import", str(file), "--data", "new")
    assert "0 records changed" in again.stderr


def test_through_a_pipe(kitchen: Path, file: Path) -> None:
    out = run("export", "-", "--data", str(kitchen))
    assert out.exit_code == 0, out.stderr
    brought = run("import", "-", "--data", "new", "--json", input=out.stdout_bytes)
    assert json.loads(brought.stdout)["written"] == len(records_of(file))


def test_a_plain_file_is_lines_of_json(kitchen: Path, file: Path, tmp_path: Path) -> None:
    run("export", "data.jsonl", "--data", str(kitchen))
    assert records_of(tmp_path / "data.jsonl") == records_of(file)
    assert run("import", "data.jsonl", "--data", "new").exit_code == 0


def test_waiting_embeds_and_indexes(kitchen: Path) -> None:
    run("export", "thin.jsonl.zst", "--data", str(kitchen), "--no-vectors")
    brought = run("import", "thin.jsonl.zst", "--data", "new")
    assert "texts have no vector yet; a server makes them" in brought.stderr
    waited = run("import", "thin.jsonl.zst", "--data", "new", "--wait")
    assert waited.exit_code == 0, waited.stderr
    assert "all of it can be found" in waited.stderr
    assert "no vector yet" not in run("import", "thin.jsonl.zst", "--data", "new").stderr


def test_one_account(kitchen: Path) -> None:
    assert run("export", "a.jsonl", "--data", str(kitchen), "--account", "default").exit_code == 0
    missing = run("export", "b.jsonl", "--data", str(kitchen), "--account", "nobody")
    assert missing.exit_code == 1
    assert "there is no account 'nobody'" in missing.stderr
    assert not Path("b.jsonl").exists()


def test_a_file_is_verified_without_a_data_directory(file: Path) -> None:
    result = run("import", str(file), "--verify")
    assert result.exit_code == 0
    assert "is whole" in result.stderr
    assert list(Path().iterdir()) == []


def test_a_damaged_file_is_named_by_its_line(file: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.zst"
    cut.write_bytes(file.read_bytes()[:-40])
    checked = run("import", "cut.jsonl.zst", "--verify", "--json")
    assert checked.exit_code == 1
    assert error_of(checked)["code"] == "INVALID_ARGUMENT"
    brought = run("import", "cut.jsonl.zst", "--data", "new")
    assert brought.exit_code == 1
    assert "line " in brought.stderr
    assert "get a whole copy and run the same command again" in " ".join(brought.stderr.split())


def test_another_file_is_refused_before_the_data_is_opened(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n", encoding="utf-8")
    result = run("import", "notes.txt", "--data", "new")
    assert result.exit_code == 1
    assert "no contextfind export" in result.stderr
    assert not (tmp_path / "new").exists()


def test_missing_files_and_directories_are_named() -> None:
    absent = run("import", "absent.jsonl.zst")
    assert absent.exit_code == 2
    assert "cannot use absent.jsonl.zst: No such file" in absent.stderr
    assert list(Path().iterdir()) == []


@directory_only
def test_a_directory_without_data_is_not_exported() -> None:
    empty = run("export", "data.jsonl.zst", "--data", "nowhere")
    assert empty.exit_code == 2
    assert "name the directory with --data DIR" in empty.stderr
    assert list(Path().iterdir()) == []


def test_a_directory_for_the_file_that_is_not_there(kitchen: Path) -> None:
    result = run("export", "no/such/data.jsonl.zst", "--data", str(kitchen))
    assert result.exit_code == 2
    assert "cannot use no/such/data.jsonl.zst" in result.stderr


@directory_only  # it has a lock
@pytest.mark.parametrize("command", ["export", "import"])
def test_data_in_use_is_left_alone(command: str, kitchen: Path, file: Path) -> None:
    with DirectoryLock(kitchen):
        target = "out.jsonl.zst" if command == "export" else str(file)
        result = run(command, target, "--data", str(kitchen))
    assert result.exit_code == 3
    assert "is in use by the process" in result.stderr
    assert not Path("out.jsonl.zst").exists()


def test_vectors_of_another_embedder_are_not_dropped_silently(tmp_path: Path) -> None:
    draft = placeholders(Uri.parse("viking://resources/a"))[0]
    with (
        (tmp_path / "other.jsonl.zst").open("wb") as stream,
        ExportWriter(stream, Header(NOON, "openai:some-model:8", 8)) as out,
    ):
        out.entry(Entry(copy_of("acme", draft, NOON)))
    refused = run("import", "other.jsonl.zst", "--data", "new")
    assert refused.exit_code == 3
    assert "made by embedder 'openai:some-model:8'" in refused.stderr
    assert run("import", "other.jsonl.zst", "--data", "new", "--reembed").exit_code == 0


def test_vectors_of_a_wrong_length_are_not_believed_to_be_ours(kitchen: Path) -> None:
    run("export", "data.jsonl", "--data", str(kitchen))
    lines = Path("data.jsonl").read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])["contextfind-export"]
    fingerprint = header["embedder"]["fingerprint"]
    with (
        Path("short.jsonl").open("wb") as stream,
        ExportWriter(stream, Header(NOON, fingerprint, 8), compressed=False),
    ):
        pass
    result = run("import", "short.jsonl", "--data", "new")
    assert result.exit_code == 1
    assert "its vectors have 8 numbers" in result.stderr


def test_an_export_that_fails_leaves_the_former_file(file: Path, tmp_path: Path) -> None:
    former = tmp_path / "data.jsonl.zst"
    former.write_bytes(b"former")
    run("import", str(file), "--data", "broken")
    lose_body(tmp_path / "broken", b"# tea\n\nHow to make tea.\n")
    result = run("export", str(former), "--data", "broken")
    assert result.exit_code == 1
    assert "is lost" in result.stderr
    assert former.read_bytes() == b"former"
    assert list(tmp_path.glob("*.part")) == []


def test_the_pace_tells_rate_and_time_left() -> None:
    now = [0.0]
    pace = Pace("records", lambda: now[0])
    assert pace.at(0, 100) == "records"
    now[0] = 1e-6
    assert pace.at(100_000, 100_000) == "records"
    now[0] = 1.0
    assert pace.at(5_000, 20_000) == "records, 5,000/s"
    now[0] = 4.0
    assert pace.at(20_000, 1_000_000) == "records, 5,000/s, 3 min left"
    assert pace.at(20_000, 20_000) == "records, 5,000/s"


@pytest.mark.parametrize(("seconds", "said"), [(9.4, "9 s"), (119, "2 min"), (7_500, "2 h 5 min")])
def test_times_as_a_person_says_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said
