"""Calling an application in the process, with its lifespan running."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
from fastapi import FastAPI

from contextfind.server.app import create_app
from contextfind.server.rules import Mint, ServerRules
from tests.api.fake_house import FakeHouse

FIND = "/api/v1/search/find"


@asynccontextmanager
async def calling(app: FastAPI, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    """Return a client of the running app; an exception of the app is a 500, as on a socket."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers=headers
        ) as http,
    ):
        yield http


def app_of(house: FakeHouse, rules: ServerRules | None = None) -> FastAPI:
    """Return an app whose keys are `cf_key1`, `cf_key2`, …"""
    keys, requests = count(1), count(1)
    mint = Mint(lambda: f"request{next(requests)}", lambda: f"cf_key{next(keys)}")
    return create_app(house.open, rules, mint)


@dataclass
class Api:
    """A fake house and a client of the app before it."""

    house: FakeHouse
    http: httpx.AsyncClient

    async def find(self, **body: Any) -> httpx.Response:
        return await self.http.post(FIND, json=body)


def error_of(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Return `error` of a failure envelope that is whole in every way a client may look at."""
    body = response.json()
    assert response.status_code == status, body
    assert set(body) == {"status", "result", "error"}
    assert body["status"] == "error"
    assert body["result"] is None
    assert set(body["error"]) == {"code", "message", "details"}
    assert body["error"]["code"] == code
    assert isinstance(body["error"]["details"], dict)
    assert response.headers["x-request-id"]
    return body["error"]


def result_of(response: httpx.Response) -> Any:
    """Return `result` of a success envelope."""
    body = response.json()
    assert response.status_code == 200, body
    assert body["status"] == "ok"
    return body["result"]
