"""What a wrong key can learn: nothing, not even by how long it takes to refuse it."""

import hmac

import pytest

from contextfind.server import auth
from contextfind.server.rules import ServerRules
from tests.api.caller import app_of, calling
from tests.api.fake_house import FakeHouse

STATUS = "/api/v1/system/status"


@pytest.mark.parametrize("sent", ["alice", "root", "alicf", "a", "", "é" * 300])
async def test_a_key_is_compared_with_every_configured_one_in_constant_time(
    sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[str, str]] = []

    def compare(known: str, digest: str) -> bool:
        compared.append((known, digest))
        return hmac.compare_digest(known, digest)

    monkeypatch.setattr(
        auth, "hmac", type("Watched", (), {"compare_digest": staticmethod(compare)})
    )
    rules = ServerRules(api_key="alice", root_api_key="root")
    async with calling(app_of(FakeHouse(), rules)) as http:
        answer = await http.get(STATUS, headers={"X-API-Key": sent.encode()})
    assert answer.status_code == (200 if sent in ("alice", "root") else 401)
    known = [auth.digest_of("alice"), auth.digest_of("root")]
    assert compared == ([(one, auth.digest_of(sent)) for one in known] if sent else [])


async def test_an_unknown_a_revoked_and_a_mistyped_key_are_refused_in_the_same_words() -> None:
    async with calling(app_of(FakeHouse(), ServerRules(api_key="alice"))) as http:
        keys = ("cf_unknown", "alicf", "alice ", "ALICE", "alice\t1")
        answers = [await http.get(STATUS, headers={"X-API-Key": key}) for key in keys]
    refusals = [answer.json() for answer in answers if answer.status_code != 200]
    assert len(refusals) == len(keys) - 1  # blanks around a key are none of it
    assert all(one == refusals[0] for one in refusals)


@pytest.mark.parametrize("place", ["api_key", "key", "token", "X-API-Key"])
async def test_a_key_in_an_address_is_no_key(place: str) -> None:
    async with calling(app_of(FakeHouse(), ServerRules(api_key="alice"))) as http:
        answer = await http.get(STATUS, params={place: "alice"})
    assert answer.status_code == 401
