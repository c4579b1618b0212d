"""A real house with several tenants before it: hashed vectors, real engines, real routes."""

import io
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.server.app import create_app
from contextfind.server.rules import ServerRules
from contextfind.wiring import House, Surroundings
from tests.api.caller import FIND, calling, result_of
from tests.backends import storage_in

WRITE = "/api/v1/content/write"
ROOT_KEY = {"X-API-Key": "root"}
SHELVES = ("memories", "resources", "skills")
HASH = EmbeddingSettings(provider="hash")


def packed(files: Mapping[str, str | bytes]) -> bytes:
    """Return a zip of files by path."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return buffer.getvalue()


@dataclass
class Tenant:
    """One user of one account, with a key."""

    http: httpx.AsyncClient
    key: Mapping[str, str] = field(default_factory=dict)

    async def post(self, path: str, body: object) -> httpx.Response:
        return await self.http.post(path, json=body, headers=dict(self.key))

    async def put(self, path: str, body: object) -> httpx.Response:
        return await self.http.put(path, json=body, headers=dict(self.key))

    async def get(self, path: str, **params: object) -> httpx.Response:
        return await self.http.get(f"/api/v1/{path}", params=params, headers=dict(self.key))

    async def find(self, **body: Any) -> httpx.Response:
        return await self.post(FIND, body)

    async def hits(self, **body: Any) -> list[dict[str, Any]]:
        """Return the hits of a find that must succeed, best first, ties by address."""
        result = result_of(await self.find(**body))
        hits = [hit for shelf in SHELVES for hit in result[shelf]]
        assert result["total"] == len(hits)
        return sorted(hits, key=lambda hit: (-hit["score"], hit["uri"]))

    async def uris(self, **body: Any) -> list[str]:
        return [hit["uri"] for hit in await self.hits(**body)]

    async def write(self, uri: str, content: str, **more: Any) -> Any:
        body = {"uri": uri, "content": content, "wait": True, **more}
        return result_of(await self.post(WRITE, body))

    async def fill(self, files: Mapping[str, str]) -> None:
        """Write many files and wait once."""
        for uri, content in files.items():
            await self.write(uri, content, wait=False)
        await self.settled()

    async def settled(self) -> None:
        result_of(await self.post("/api/v1/system/wait", {"timeout": 30}))

    async def remove(self, uri: str) -> Any:
        params = {"uri": uri, "recursive": "true"}
        headers = dict(self.key)
        return result_of(await self.http.delete("/api/v1/fs", params=params, headers=headers))

    async def upload(self, name: str, data: bytes, **body: Any) -> Any:
        """Add an uploaded file to the tree and wait."""
        files = {"file": (name, data)}
        path = "/api/v1/resources/temp_upload"
        sent = await self.http.post(path, files=files, headers=dict(self.key))
        added = {"temp_file_id": result_of(sent)["temp_file_id"], "wait": True, **body}
        return result_of(await self.post("/api/v1/resources", added))


@dataclass
class Watch:
    """A clock that a test sets."""

    now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Town:
    """A server with a root key, and its clock."""

    http: httpx.AsyncClient
    watch: Watch

    async def account(self, name: str, users: Sequence[str]) -> list[Tenant]:
        """Make an account whose first user is its admin."""
        body = {"account_id": name, "admin_user_id": users[0]}
        made = await self.http.post("/api/v1/admin/accounts", json=body, headers=ROOT_KEY)
        keys = [result_of(made)["user_key"]]
        for user in users[1:]:
            path = f"/api/v1/admin/accounts/{name}/users"
            more = await self.http.post(path, json={"user_id": user}, headers=ROOT_KEY)
            keys.append(result_of(more)["user_key"])
        return [Tenant(self.http, {"X-API-Key": key}) for key in keys]

    async def tenant(self, name: str) -> Tenant:
        """Return user `ann` of a new account."""
        return (await self.account(name, ["ann"]))[0]


@asynccontextmanager
async def living(
    data: Path,
    rules: ServerRules | None = None,
    embedding: EmbeddingSettings = HASH,
    watch: Watch | None = None,
) -> AsyncIterator[httpx.AsyncClient]:
    """Open a house in a directory and return a client of the server before it."""
    settings = Settings(storage=storage_in(data), embedding=embedding)
    around = Surroundings.real()
    if watch is not None:
        around = replace(around, clock=watch)
    async with calling(create_app(lambda: House.open(settings, around), rules)) as http:
        yield http


@asynccontextmanager
async def town(data: Path) -> AsyncIterator[Town]:
    """Open a server with a root key and a clock that stands still."""
    watch = Watch()
    async with living(data, ServerRules(root_api_key="root"), watch=watch) as http:
        yield Town(http, watch)
