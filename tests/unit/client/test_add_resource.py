import asyncio
import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from contextfind.client import AsyncClient, failure
from contextfind.client.surroundings import Surroundings
from tests.unit.cli.stub_server import StubServer
from tests.unit.client.conftest import Connect

ROOT = "viking://resources/docs"
UPLOAD = "/api/v1/resources/temp_upload"
RESULT = {"added": 2, "skipped": []}


def task(status: str, **fields: Any) -> dict[str, Any]:
    return {"task_id": "t1", "status": status, "stage": "reading", "done": 0, "total": 0, **fields}


def ready(stub: StubServer, *tasks: dict[str, Any]) -> None:
    stub.results("POST", UPLOAD, {"temp_file_id": "upload_1.zip"})
    stub.results("POST", "/api/v1/resources", {"root_uri": ROOT, "task_id": "t1"})
    stub.results("GET", "/api/v1/tasks/t1", *(tasks or (task("completed", result=RESULT),)))


def sent_to(stub: StubServer, path: str) -> Any:
    return next(asked for asked in stub.asked if asked.path == path)


def impatient(connect: Connect, **named: Any) -> Any:
    """Return a client that does not wait between two looks at a task."""

    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    return connect(around=Surroundings(pause=lambda _: None, sleep=at_once, **named))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    directory = tmp_path / "docs"
    directory.mkdir()
    (directory / "a.md").write_text("# A", encoding="utf-8")
    (directory / "b.txt").write_text("b", encoding="utf-8")
    return directory


async def test_a_directory_is_sent_as_a_zip(stub: StubServer, connect: Connect, docs: Path) -> None:
    ready(stub)
    added = await connect().add_resource(docs, include=["*.md"], to=ROOT)
    body = sent_to(stub, UPLOAD).body
    with zipfile.ZipFile(io.BytesIO(body[body.index(b"PK") : body.rindex(b"\r\n--")])) as archive:
        assert archive.namelist() == ["a.md"]
    assert sent_to(stub, "/api/v1/resources").json == {
        "temp_file_id": "upload_1.zip",
        "source_name": "docs",
        "include": ["*.md"],
        "to": ROOT,
    }
    assert (added.root_uri, added.task_id, added.task) == (ROOT, "t1", None)


async def test_a_file_is_sent_as_it_is(stub: StubServer, connect: Connect, docs: Path) -> None:
    ready(stub)
    await connect().add_resource(str(docs / "a.md"), source_name="other.md")
    assert b'filename="a.md"' in sent_to(stub, UPLOAD).body
    assert b"# A" in sent_to(stub, UPLOAD).body
    assert stub.last.json == {"temp_file_id": "upload_1.zip", "source_name": "other.md"}


async def test_waiting_tells_how_far_it_is(stub: StubServer, connect: Connect, docs: Path) -> None:
    ready(
        stub,
        task("running", done=1, total=2),
        task("running", stage="embedding"),
        task("running", stage="embedding"),
        task("completed", result=RESULT),
    )
    left = [{"backlog": {"texts": texts}} for texts in (8, 2)]
    stub.results("GET", "/api/v1/system/status", *left)
    told: list[tuple[str, int, int]] = []
    added = await impatient(connect).add_resource(
        docs, wait=True, progress=lambda *step: told.append(step)
    )
    assert added.task.result == RESULT
    assert ("packing", 2, 2) in told
    assert ("uploading", 0, 1) in told
    assert told[-3:] == [("indexing", 1, 2), ("embedding", 0, 8), ("embedding", 6, 8)]


async def test_work_that_failed_is_an_error(stub: StubServer, connect: Connect, docs: Path) -> None:
    ready(stub, task("failed", error="the zip is broken"))
    with pytest.raises(failure.TaskFailedError, match="the zip is broken") as caught:
        await connect().add_resource(docs, wait=True)
    assert caught.value.details["task_id"] == "t1"


async def test_a_wait_ends_in_time_and_the_work_goes_on(
    stub: StubServer, connect: Connect, docs: Path
) -> None:
    ready(stub, task("running"))
    times = iter(range(0, 1000, 10))
    client = impatient(connect, clock=lambda: float(next(times)))
    with pytest.raises(failure.DeadlineExceededError, match="running after 60 s") as caught:
        await client.add_resource(docs, wait=True, timeout=60)
    assert caught.value.details["task_id"] == "t1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"path": "nowhere"}, "nowhere"),
        ({"exclude": ["*"]}, "no file of"),
        ({"exclude": ["!a"]}, "!a"),
    ],
)
async def test_what_cannot_be_added_is_said_before_anything_is_sent(
    stub: StubServer, connect: Connect, docs: Path, words: dict[str, Any], said: str
) -> None:
    with pytest.raises(failure.InvalidArgumentError, match=said):
        await connect().add_resource(**{"path": docs, **words})
    assert stub.asked == []


async def test_nothing_is_left_behind_when_it_is_cancelled(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    asked = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        asked.set()
        await reader.read()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, AsyncClient(url) as client:
        adding = asyncio.create_task(client.add_resource(docs))
        await asked.wait()
        assert list(room.iterdir()) != []
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
    assert list(room.iterdir()) == []
