"""What is brought from an older server: no bytes, no pages, another user's name, a file that is lost."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from contextfind.cli.migration import HOME, Migration
from contextfind.client import AsyncClient, UnavailableError
from contextfind.config.model import EmbeddingSettings, Settings, StorageSettings
from contextfind.server.app import create_app
from contextfind.wiring import House

MEMORIES = "viking://user/ann/memories"
FILES = {
    f"{MEMORIES}/preferences/tea.md": "I drink green tea in the morning.\n",
    f"{MEMORIES}/lost.md": None,
    f"{MEMORIES}/.overview.md": "What the other server made of it.\n",
    f"{MEMORIES}/a\x07b.md": "A name that cannot be stored here.\n",
}


class OldServer:
    """Answers as an older server does; `down` after so many reads."""

    def __init__(self, reads: int = 100) -> None:
        self.reads = reads

    def answer(self, request: httpx.Request) -> httpx.Response:
        uri, path = request.url.params.get("uri", ""), request.url.path
        if path == "/api/v1/system/status":
            return _ok({"initialized": True, "user": "ann"})
        if path == "/api/v1/fs/ls":
            children = {
                "/".join(one.split("/")[: uri.count("/") + 2])
                for one in FILES
                if one.startswith(f"{uri}/")
            }
            entries = [{"uri": one, "isDir": one not in FILES, "size": 5} for one in children]
            return _ok(entries) if children else _missing()
        if path == "/api/v1/content/read" and FILES.get(uri):
            self.reads -= 1
            return _ok(FILES[uri]) if self.reads >= 0 else httpx.Response(503)
        return _missing()


def _ok(result: Any) -> httpx.Response:
    return httpx.Response(200, json={"status": "ok", "result": result})


def _missing() -> httpx.Response:
    error = {"code": "NOT_FOUND", "message": "nothing there", "details": {}}
    return httpx.Response(404, json={"status": "error", "result": None, "error": error})


def source_of(server: OldServer) -> AsyncClient:
    transport = httpx.MockTransport(server.answer)
    return AsyncClient("http://old.example", transport=transport, retries=0)


@pytest.fixture
async def target(tmp_path) -> AsyncIterator[AsyncClient]:
    settings = Settings(
        storage=StorageSettings(path=str(tmp_path / "data")),
        embedding=EmbeddingSettings(provider="hash"),
    )
    app = create_app(lambda: House.open(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient("http://127.0.0.1", transport=httpx.ASGITransport(app)) as client,
    ):
        yield client


async def test_what_can_be_brought_is_and_the_rest_is_named(target: AsyncClient) -> None:
    told: list[tuple[int, int]] = []
    async with source_of(OldServer()) as source:
        brought = await Migration(source, target).bring(
            [f"{HOME}/memories", "viking://resources"], lambda *counts: told.append(counts)
        )
    assert brought.written == 1
    assert set(brought.failed) == {f"{MEMORIES}/lost.md", f"{MEMORIES}/a\x07b.md"}
    assert told == [(0, 3), (3, 3)]
    text = await target.read("viking://user/default/memories/preferences/tea.md")
    assert text == FILES[f"{MEMORIES}/preferences/tea.md"]


async def test_a_server_that_goes_away_ends_it(target: AsyncClient) -> None:
    async with source_of(OldServer(reads=0)) as source:
        with pytest.raises(UnavailableError):
            await Migration(source, target).bring([f"{HOME}/memories"], lambda *_: None)
