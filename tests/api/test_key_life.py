"""From the making of a key to its end."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest

from contextfind.domain.errors import UnavailableError
from contextfind.domain.identity import Identity
from contextfind.ports import JobState
from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import NOW, FakeHouse

KEYS = "/api/v1/admin/keys"
BENS = "/api/v1/admin/accounts/acme/users/ben"
STATUS = "/api/v1/system/status"
ROOT = {"X-API-Key": "root"}
ANN, BEN = {"X-API-Key": "cf_ann"}, {"X-API-Key": "cf_ben"}


@dataclass
class Place:
    house: FakeHouse
    http: httpx.AsyncClient

    async def role(self, headers) -> str:
        return result_of(await self.http.get(STATUS, headers=headers))["role"]

    async def is_dead(self, headers) -> bool:
        response = await self.http.get(STATUS, headers=headers)
        if response.status_code == 200:
            return False
        error_of(response, 401, "UNAUTHENTICATED")
        return True

    async def ids(self, headers=ROOT) -> list[str]:
        return [one["key_id"] for one in result_of(await self.http.get(KEYS, headers=headers))]


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    house = FakeHouse()
    await house.identities.let_in("cf_ann", Identity("acme", "ann", "admin"), "key-ann")
    await house.identities.let_in("cf_ben", Identity("acme", "ben", "user"), "key-ben")
    async with calling(app_of(house, ServerRules(root_api_key="root"))) as http:
        yield Place(house, http)


def new_key(response: httpx.Response) -> dict[str, str]:
    return {"X-API-Key": result_of(response)["user_key"]}


@pytest.mark.parametrize("who", [ROOT, ANN, BEN])
async def test_a_rotated_key_keeps_its_id_and_label_and_its_old_secret_is_dead(place, who):
    place.house.now = NOW + timedelta(days=1)
    made = await place.http.post(f"{KEYS}/key-ben/rotate", headers=who)
    assert result_of(made) == {
        "key_id": "key-ben",
        "account_id": "acme",
        "user_id": "ben",
        "role": "user",
        "hint": "cf_key1…",
        "label": "laptop",
        "created_at": "2026-03-02T12:00:00Z",
        "last_used_at": None,
        "user_key": "cf_key1",
    }
    assert await place.is_dead(BEN)
    assert await place.role(new_key(made)) == "user"
    assert await place.ids() == ["key-ann", "key-ben"]


async def test_a_rotated_key_shows_its_first_use_though_the_old_one_was_just_used(place):
    await place.role(BEN)
    made = await place.http.post(f"{KEYS}/key-ben/rotate", headers=ROOT)
    (key,) = result_of(await place.http.get(KEYS, headers=new_key(made)))
    assert key["last_used_at"] == "2026-03-01T12:00:00Z"


async def test_whoever_sends_a_key_instead_of_its_id_is_told_so_and_the_key_not_repeated(place):
    for method, path in (("POST", "/cf_abcdefghijk/rotate"), ("DELETE", "/cf_abcdefghijk")):
        response = await place.http.request(method, KEYS + path, headers=ROOT)
        error = error_of(response, 400, "INVALID_ARGUMENT")
        assert "expected the key_id" in error["message"]
        assert "fghijk" not in response.text


async def test_a_renewed_key_is_the_only_one_of_its_user(place):
    body = {"account_id": "acme", "user_id": "ben", "label": "phone"}
    second = new_key(await place.http.post(KEYS, json=body, headers=ANN))
    made = await place.http.post(f"{BENS}/key", headers=ANN)
    assert result_of(made)["user_key"] == "cf_key2"
    assert result_of(made)["user_id"] == "ben"
    assert await place.is_dead(BEN)
    assert await place.is_dead(second)
    assert await place.role(new_key(made)) == "user"
    assert await place.role(ANN) == "admin"


@pytest.mark.parametrize("sent", [{}, {"json": {}}, {"content": b""}])
async def test_a_key_is_renewed_whatever_body_is_sent(place, sent):
    result_of(await place.http.post(f"{BENS}/key", headers=ANN, **sent))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("DELETE", "", None), ("PUT", "/role", {"role": "user"}), ("POST", "/key", None)],
)
async def test_a_user_that_is_not_there_is_not_found(place, method, path, body):
    for nobody in (BENS.replace("ben", "eve"), BENS.replace("acme", "nothere")):
        response = await place.http.request(method, nobody + path, json=body, headers=ROOT)
        error_of(response, 404, "NOT_FOUND")


async def test_a_removed_user_is_gone_with_its_keys_and_running_tasks(place):
    add = await place.http.post("/api/v1/resources", json={"temp_file_id": "u"}, headers=BEN)
    task = result_of(add)["task_id"]
    gone = await place.http.delete(BENS, headers=ANN)
    assert result_of(gone) == {
        "account_id": "acme",
        "user_id": "ben",
        "removed": True,
        "revoked_keys": 1,
    }
    assert await place.is_dead(BEN)
    assert place.house.jobs.jobs[task].state is JobState.CANCELLED
    users = result_of(await place.http.get(BENS.removesuffix("/ben"), headers=ANN))
    assert "ben" not in [one["user_id"] for one in users]
    error_of(await place.http.delete(BENS, headers=ANN), 404, "NOT_FOUND")


async def test_nobody_inherits_the_tree_of_a_removed_user_by_chance(place):
    await place.http.delete(BENS, headers=ANN)
    users = BENS.removesuffix("/ben")
    again = await place.http.post(users, json={"user_id": "ben"}, headers=ANN)
    assert "restore=true" in error_of(again, 409, "ALREADY_EXISTS")["message"]
    back = await place.http.post(users, json={"user_id": "ben", "restore": True}, headers=ANN)
    assert await place.role(new_key(back)) == "user"
    assert await place.is_dead(BEN)


async def test_another_role_holds_for_the_next_request_of_a_key(place):
    users = BENS.removesuffix("/ben")
    error_of(await place.http.get(users, headers=BEN), 403, "PERMISSION_DENIED")
    changed = await place.http.put(f"{BENS}/role", json={"role": "admin"}, headers=ANN)
    assert result_of(changed) == {"account_id": "acme", "user_id": "ben", "role": "admin"}
    assert await place.role(BEN) == "admin"
    result_of(await place.http.get(users, headers=BEN))
    await place.http.put(f"{BENS}/role", json={"role": "user"}, headers=ROOT)
    error_of(await place.http.get(users, headers=BEN), 403, "PERMISSION_DENIED")


@pytest.mark.parametrize("role", ["root", "", "Admin", None, 1])
async def test_no_other_roles_are_given(place, role):
    changed = await place.http.put(f"{BENS}/role", json={"role": role}, headers=ROOT)
    error_of(changed, 400, "INVALID_ARGUMENT")
    assert await place.role(BEN) == "user"


async def test_a_key_revoked_during_a_request_is_dead_for_the_next_one(place):
    place.house.finder.seconds = 0.4
    under_way = asyncio.create_task(place.http.post(FIND, json={"query": "x"}, headers=BEN))
    while not place.house.finder.asked:  # noqa: ASYNC110 - the finder has no bell
        await asyncio.sleep(0.001)
    result_of(await place.http.delete(f"{KEYS}/key-ben", headers=ROOT))
    assert await place.is_dead(BEN)
    result_of(await under_way)


async def test_the_owner_of_a_key_sees_its_last_use_to_the_minute(place):
    uses = []
    for seconds in (0, 59, 60, 200):
        place.house.now = NOW + timedelta(seconds=seconds)
        (key,) = result_of(await place.http.get(KEYS, headers=BEN))
        uses.append(key["last_used_at"][-9:])
    assert uses == ["12:00:00Z", "12:00:00Z", "12:01:00Z", "12:03:20Z"]
    assert len(place.house.identities.uses) == 3


async def test_a_store_that_takes_no_writes_keeps_nobody_from_reading(place):
    place.house.identities.fault = UnavailableError("disk full")
    assert await place.role(BEN) == "user"


async def test_a_configured_key_may_hold_letters_of_any_language():
    house, key = FakeHouse(), "schlüssel-钥匙"
    async with calling(app_of(house, ServerRules(api_key=key))) as http:
        for name, value in (("X-API-Key", key), ("Authorization", f"Bearer {key}")):
            result_of(await http.get(STATUS, headers={name: value.encode()}))
        wrong = await http.get(STATUS, headers={"X-API-Key": key[:-1].encode()})
        error_of(wrong, 401, "UNAUTHENTICATED")
