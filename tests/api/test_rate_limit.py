"""Too many requests with one key, and too many wrong keys from one address."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from contextfind.domain.identity import Identity
from contextfind.server.app import create_app
from contextfind.server.rules import Mint, ServerRules
from tests.api.caller import FIND, calling, error_of, result_of
from tests.api.fake_house import FakeHouse

STATUS = "/api/v1/system/status"
ANN, BEN = {"X-API-Key": "cf_ann"}, {"X-API-Key": "cf_ben"}
LIMITED = ServerRules(
    api_key="ready", root_api_key="root", rate_limit_per_minute=30, rate_limit_burst=2
)


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Place:
    http: httpx.AsyncClient
    clock: Clock
    house: FakeHouse = field(default_factory=FakeHouse)

    async def statuses(self, count: int, headers: dict[str, str] | None = None) -> list[int]:
        answers = [await self.http.get(STATUS, headers=headers) for _ in range(count)]
        return [answer.status_code for answer in answers]


@asynccontextmanager
async def served(rules: ServerRules) -> AsyncIterator[Place]:
    house, clock = FakeHouse(), Clock()
    await house.identities.let_in("cf_ann", Identity("acme", "ann", "admin"), "key-ann")
    await house.identities.let_in("cf_ben", Identity("acme", "ben", "user"), "key-ben")
    async with calling(create_app(house.open, rules, Mint(timer=clock))) as http:
        yield Place(http, clock, house)


async def test_without_the_setting_nobody_is_limited() -> None:
    async with served(ServerRules(root_api_key="root")) as place:
        assert await place.statuses(100, ANN) == [200] * 100


async def test_a_key_that_asks_too_often_is_told_when_to_come_again() -> None:
    async with served(LIMITED) as place:
        assert await place.statuses(2, ANN) == [200, 200]
        refused = await place.http.post(FIND, json={"query": "x"}, headers=ANN)
        error = error_of(refused, 429, "RESOURCE_EXHAUSTED")
        assert "server.rate_limit_per_minute" in error["message"]
        assert error["details"] == {"retry_after_seconds": 2, "retryable": True}
        assert refused.headers["retry-after"] == "2"
        assert place.house.finder.asked == []
        place.clock.now += 2
        assert await place.statuses(2, ANN) == [200, 429]


async def test_every_key_has_an_allowance_of_its_own() -> None:
    async with served(LIMITED) as place:
        for key in ("cf_ann", "cf_ben", "ready", "root"):
            assert await place.statuses(3, {"X-API-Key": key}) == [200, 200, 429]


async def test_in_dev_mode_all_share_one_allowance_whatever_key_they_send() -> None:
    async with served(ServerRules(rate_limit_per_minute=1, rate_limit_burst=2)) as place:
        assert await place.statuses(1, ANN) == [200]
        assert await place.statuses(2, BEN) == [200, 429]


async def test_without_a_burst_a_whole_minute_may_come_at_once() -> None:
    async with served(ServerRules(root_api_key="root", rate_limit_per_minute=5)) as place:
        assert await place.statuses(6, ANN) == [200] * 5 + [429]


async def test_every_route_below_the_api_counts_also_one_that_is_not_there() -> None:
    async with served(LIMITED) as place:
        for path in ("/api/v1/nope", "/api/v1/skills"):
            await place.http.get(path, headers=ANN)
        refused = await place.http.get("/api/v1/nope", headers=ANN)
        error_of(refused, 429, "RESOURCE_EXHAUSTED")


@pytest.mark.parametrize("path", ["/health", "/ready", "/docs", "/openapi.json"])
async def test_health_and_readiness_are_never_limited(path: str) -> None:
    async with served(LIMITED) as place:
        await place.statuses(3, ANN)
        answers = [await place.http.get(path, headers=ANN) for _ in range(5)]
        assert {answer.status_code for answer in answers} == {200}


async def test_a_rotated_key_has_no_fresh_allowance() -> None:
    async with served(LIMITED) as place:
        await place.statuses(3, ANN)
        made = await place.http.post(
            "/api/v1/admin/keys/key-ann/rotate", headers={"X-API-Key": "root"}
        )
        key = {"X-API-Key": result_of(made)["user_key"]}
        assert await place.statuses(1, key) == [429]


def _upload(headers: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/resources/temp_upload",
        "raw_path": b"",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "client": ("10.0.0.1", 1),
        "server": ("here", 80),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }


async def _never() -> dict[str, Any]:
    raise AssertionError("the body was read")


async def _answer(app: Callable[..., Awaitable[None]], scope: dict[str, Any]) -> dict[str, Any]:
    sent: list[dict[str, Any]] = []

    async def keep(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, _never, keep)
    return sent[0]


async def test_a_refusal_comes_before_any_of_the_body_is_read() -> None:
    house = FakeHouse()
    await house.identities.let_in("cf_ann", Identity("acme", "ann", "admin"))
    rules = ServerRules(root_api_key="root", rate_limit_per_minute=1, wrong_keys_per_minute=1)
    app = create_app(house.open, rules, Mint(timer=Clock()))
    async with calling(app, **ANN) as http:
        await http.get(STATUS)
        limited = await _answer(app, _upload(ANN))
        wrong = await _answer(app, _upload({"X-API-Key": "cf_no"}))
        guessed = await _answer(app, _upload({"X-API-Key": "cf_no"}))
    assert [one["status"] for one in (limited, wrong, guessed)] == [429, 401, 429]
    for one in (limited, guessed):
        assert (b"retry-after", b"60") in one["headers"]


async def test_many_wrong_keys_from_one_address_are_not_looked_at_any_more() -> None:
    async with served(ServerRules(root_api_key="root", wrong_keys_per_minute=30)) as place:
        for number in range(30):
            assert await place.statuses(1, {"X-API-Key": f"cf_{number}"}) == [401]
        refused = await place.http.get(STATUS, headers={"X-API-Key": "cf_30"})
        error = error_of(refused, 429, "RESOURCE_EXHAUSTED")
        assert "too many wrong keys" in error["message"]
        assert refused.headers["retry-after"] == "2"
        # Even the right one is not looked at, or guessing would go on at full speed.
        assert await place.statuses(1, BEN) == [429]
        place.clock.now += 2
        assert await place.statuses(1, BEN) == [200]


async def test_who_was_in_before_stays_in_while_a_neighbour_sends_wrong_keys() -> None:
    async with served(ServerRules(root_api_key="root", wrong_keys_per_minute=3)) as place:
        assert await place.statuses(1, BEN) == [200]
        assert await place.statuses(5, {"X-API-Key": "cf_no"}) == [401, 401, 401, 429, 429]
        assert await place.statuses(2, BEN) == [200, 200]
        root = {"X-API-Key": "root"}
        assert await place.statuses(1, root) == [429]
        place.clock.now += 20
        await place.http.delete("/api/v1/admin/keys/key-ben", headers=root)
        assert await place.statuses(2, BEN) == [401, 401]


async def test_requests_without_a_key_are_no_guesses() -> None:
    async with served(ServerRules(root_api_key="root", wrong_keys_per_minute=3)) as place:
        assert await place.statuses(10) == [401] * 10
        assert await place.statuses(1, ANN) == [200]
