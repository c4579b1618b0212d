"""Inputs that broke systems of this kind: what adding many files costs, and what stops it.

The number in a name is that of the case in docs/compatibility.md.
"""
# ruff: noqa: N802 - the numbers are written as there

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from contextfind.config.chat import ChatSettings
from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.server.app import create_app
from contextfind.wiring import House
from tests.api.caller import calling, result_of
from tests.api.living import Tenant, living, packed
from tests.backends import storage_in
from tests.stubs.chat import FORBIDDEN, StubChat, say, stub_chat
from tests.stubs.embedder import Fault, StubEmbedder, stub_embedder

TREE = "viking://resources/tree"


@asynccontextmanager
async def asking(data: Path, embedder: StubEmbedder, chat: StubChat) -> AsyncIterator[Tenant]:
    """Open a house that asks both stubs."""
    settings = Settings(
        storage=storage_in(data),
        embedding=EmbeddingSettings(
            provider="openai", model="m", api_base=embedder.base_url, dimension=8
        ),
        vlm=ChatSettings(model="m", api_base=chat.base_url, timeout=5.0),
    )
    async with calling(create_app(lambda: House.open(settings))) as http:
        yield Tenant(http)


async def sent(tenant: Tenant, files: Mapping[str, str], **body: Any) -> Any:
    """Add a tree of files without waiting, and return the answer."""
    files_ = {"file": ("tree.zip", packed(files))}
    kept = await tenant.http.post("/api/v1/resources/temp_upload", files=files_)
    added = {"temp_file_id": result_of(kept)["temp_file_id"], "wait": False, "to": TREE, **body}
    return result_of(await tenant.post("/api/v1/resources", added))


async def task_of(tenant: Tenant, task_id: str) -> Any:
    return result_of(await tenant.get(f"tasks/{task_id}"))


async def ended(tenant: Tenant, task_id: str) -> Any:
    async with asyncio.timeout(60):
        while (task := await task_of(tenant, task_id))["status"] in ("pending", "running"):  # noqa: ASYNC110 - as a client does
            await asyncio.sleep(0.05)
    return task


async def records(tenant: Tenant) -> list[tuple[str, str]]:
    listed = result_of(await tenant.get("fs/ls", uri=TREE, recursive="true"))
    return [(line["uri"], line["modTime"]) for line in listed]


async def test_R061_the_same_tree_again_asks_no_model_and_moves_nothing(tmp_path):
    files = {f"{n % 3}/{n}.md": f"# Note {n}\n\nAbout the quokka number {n}.\n" for n in range(12)}
    summary = say({"abstract": "Notes about quokkas.", "overview": "Notes."})
    with stub_embedder() as embedder, stub_chat(lambda _: summary) as chat:
        async with asking(tmp_path, embedder, chat) as ann:
            first = await ended(ann, (await sent(ann, files))["task_id"])
            assert first["result"]["added"] == 12
            await ann.settled()
            before = await records(ann)
            calls = len(embedder.requests), len(chat.requests)
            again = await ended(ann, (await sent(ann, files))["task_id"])
            assert again["result"]["unchanged"] == 12
            assert (len(embedder.requests), len(chat.requests)) == calls
            assert await records(ann) == before


async def test_R070_files_that_are_in_the_way_fail_alone_and_at_once(tmp_path):
    async with living(tmp_path) as http:
        ann = Tenant(http)
        await ann.fill({f"{TREE}/place{n}/kept.md": f"Kept {n}." for n in range(5)})
        parts = [
            {f"place{n}": "A file where a directory is." for n in range(5)},
            *({f"part{part}/{n}.md": f"Quokka {n}." for n in range(5)} for part in range(4)),
        ]
        adds = [await sent(ann, files, source_name=f"s{n}") for n, files in enumerate(parts)]
        tasks = await asyncio.gather(*(ended(ann, one["task_id"]) for one in adds))
        assert [one["status"] for one in tasks] == ["completed"] * 5
        assert [one["result"]["added"] for one in tasks] == [0, 5, 5, 5, 5]
        failed = tasks[0]["result"]["failed"]
        assert sorted(one["path"] for one in failed) == [f"place{n}" for n in range(5)]
        assert all("directory" in one["reason"] for one in failed)
        assert result_of(await ann.get("system/status"))["backlog"] == {
            "texts": 0,
            "directories": 0,
        }
        assert sum(uri.endswith(".md") for uri, _ in await records(ann)) == 25


async def test_R074_a_cancelled_ingest_stops_and_what_is_removed_stays_away(tmp_path):
    files = {f"{n % 20}/{n}.md": f"# Note {n}\n\nAbout quokka {n}.\n" for n in range(500)}
    with stub_embedder() as embedder, stub_chat() as chat:
        embedder.always = Fault(delay=0.3)
        async with asking(tmp_path, embedder, chat) as ann:
            task_id = (await sent(ann, files))["task_id"]
            async with asyncio.timeout(60):
                while not embedder.requests:  # noqa: ASYNC110 - the stub knows no event
                    await asyncio.sleep(0.01)
            began = time.monotonic()
            result_of(await ann.post(f"/api/v1/tasks/{task_id}/cancel", {}))
            assert time.monotonic() - began < 10  # of some forty that the embedder would take
            assert (await task_of(ann, task_id))["status"] == "cancelled"
            assert result_of(await ann.get("fs/ls", uri=TREE, recursive="true")) != []
            await ann.remove(TREE)
            embedder.always = None
            await ann.settled()
            gone = await ann.get("fs/ls", uri=TREE)
            assert gone.status_code == 404
            assert await ann.uris(query="quokka", limit=50) == []


async def test_R076_models_that_refuse_everything_are_asked_a_few_times_only(tmp_path):
    files = {f"{n % 10}/{n}.md": f"# Note {n}\n\nAbout quokka {n}.\n" for n in range(200)}
    with stub_embedder() as embedder, stub_chat(lambda _: FORBIDDEN) as chat:
        embedder.always = Fault(status=403, reason="no such key")
        async with asking(tmp_path, embedder, chat) as ann:
            task = await ended(ann, (await sent(ann, files))["task_id"])
            assert task["result"]["added"] == 200
            assert "no such key" in task["result"]["note"]
            assert len(embedder.requests) <= 10
            assert len(chat.requests) <= 20
            (best, *_) = await ann.uris(query="quokka 77", level=2)  # by words
            assert best.endswith("/77.md")
