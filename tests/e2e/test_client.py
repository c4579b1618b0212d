"""The clients against the program itself."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contextfind import AsyncClient, Client
from contextfind.client import AlreadyExistsError, ConflictError, NotFoundError
from tests.crash.program import ForkedServer
from tests.processes import ServerProcess

PARALLEL = 10
FILES = {
    "guide/rollback.md": "# Roll back\n\nTo roll back a release run `deploy undo`.\n",
    "发布/回滚步骤.md": "# 回滚步骤\n\n回滚发布时先停止流量。\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ForkedServer(tmp_path_factory.mktemp("client") / "data") as process:
        process.start().wait_healthy()
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as connected:
        yield connected


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("source") / "docs"
    for path, text in FILES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def test_a_directory_goes_in_and_comes_out(client: Client, docs: Path) -> None:
    stages: list[str] = []
    added = client.add_resource(
        docs, wait=True, progress=lambda stage, _, __: stages.append(stage), tags=["team=ops"]
    )
    root = "viking://resources/docs"
    assert (added.root_uri, added.unread) == (root, {})
    assert added.task is not None
    assert added.task.status == "completed"
    assert stages[0] == "packing"
    assert "uploading" in stages
    found = client.find("deploy undo", target_uri=root, level=2, tags=["team=ops"])
    assert found.resources[0].uri == f"{root}/guide/rollback.md"
    assert found.hits[0].tags == ("team=ops",)
    assert client.read(f"{root}/发布/回滚步骤.md") == FILES["发布/回滚步骤.md"]
    assert client.abstract(root)
    assert client.overview(root)
    listing = client.ls(root)
    assert [(entry.name, entry.is_dir) for entry in listing.entries] == [
        ("guide", True),
        ("发布", True),
    ]
    assert {entry.rel_path for entry in client.tree(root).entries} >= set(FILES)
    assert client.stat(f"{root}/guide/rollback.md").size == len(FILES["guide/rollback.md"])


def test_files_are_written_and_removed(client: Client) -> None:
    uri = "viking://resources/notes/zebra.md"
    written = client.write(uri, "# Zebra\n\nquagga stripes\n", tags=["kind=animal"])
    assert written.written_bytes == 24
    assert client.find("quagga stripes", level=2).hits[0].uri == uri
    assert client.rm("viking://resources/notes", recursive=True).estimated_deleted_count > 0
    assert uri not in {hit.uri for hit in client.find("quagga stripes").hits}
    client.mkdir("viking://resources/plans", "what is to come")
    with pytest.raises(ConflictError):
        client.mkdir("viking://resources/plans")
    with pytest.raises(NotFoundError) as caught:
        client.read(uri)
    assert caught.value.request_id


def test_the_server_tells_how_it_stands(client: Client) -> None:
    assert client.health().healthy
    assert client.ready().ready
    assert client.status().user == "default"
    assert set(client.wait(timeout=20)) == {"Semantic", "Embedding"}


def test_a_conversation_is_kept_told_and_archived(client: Client) -> None:
    made = client.create_session("atlas")
    assert made.uri == "viking://user/default/sessions/atlas"
    with pytest.raises(AlreadyExistsError):
        client.create_session("atlas")
    first = client.add_message("atlas", "user", "We deploy Atlas today", message_id="m1")
    again = client.add_message("atlas", "user", "We deploy Atlas today", message_id="m1")
    assert (first.added, again.added, again.message_count) == (1, 0, 1)
    said = [{"role": "assistant", "content": f"step {n}"} for n in range(130)]
    assert client.add_messages("atlas", said).message_count == 131
    context = client.session_context("atlas", token_budget=20)
    assert context.messages[-1].text == "step 129"
    assert 1 < len(context.messages) < 131
    done = client.commit_session("atlas", keep_recent_count=2, wait=True)
    assert (done.status, done.archived) == ("accepted", True)
    assert done.task is not None
    assert done.task.status == "completed"
    counted = client.get_session("atlas")
    assert (counted.message_count, counted.archived_message_count) == (2, 129)
    (line,) = client.session_archives("atlas")
    archive = client.session_archive("atlas", line.archive_id)
    assert (line.status, len(archive.messages)) == ("done", 129)
    assert archive.messages[0].text == "We deploy Atlas today"
    assert archive.overview
    found = client.search("what did we deploy?", "atlas", limit=3)
    assert found.query_plan is not None
    assert "atlas" in [one.session_id for one in client.list_sessions().sessions]
    client.delete_session("atlas")
    with pytest.raises(NotFoundError):
        client.get_session("atlas")


async def test_R032_parallel_searches_of_one_session_all_answer_inside_a_running_loop(  # noqa: N802 - a case
    server: ServerProcess,
) -> None:
    """Case R032: the blocking client works where a loop runs, and ten searches do not wait forever."""
    with Client(server.url, timeout=30) as blocking:
        blocking.write("viking://resources/r032/release.md", "# Release\n\nroll back the release\n")
        blocking.wait()  # also for the summaries above it, which change scores a little
        blocking.add_message("r032", "user", "How do I roll back the release?")
        inside = blocking.search("roll back the release", "r032", level=2)
        with ThreadPoolExecutor(PARALLEL) as threads:
            shared = list(
                threads.map(
                    lambda _: blocking.search("roll back the release", "r032", level=2),
                    range(PARALLEL),
                )
            )
    async with AsyncClient(server.url, timeout=30) as awaited:
        together = await asyncio.gather(
            *(awaited.search("roll back the release", "r032", level=2) for _ in range(PARALLEL))
        )
    assert inside.hits[0].uri == "viking://resources/r032/release.md"
    assert all(one == inside for one in (*shared, *together))
