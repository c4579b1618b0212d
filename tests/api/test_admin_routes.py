import httpx
import pytest

from contextfind.domain.uri import Uri
from contextfind.server.rules import ServerRules
from tests.api.caller import FIND, app_of, calling, error_of, result_of
from tests.api.fake_house import FakeHouse

ACCOUNTS = "/api/v1/admin/accounts"
USERS = "/api/v1/admin/accounts/acme/users"
KEYS = "/api/v1/admin/keys"
ACME = {"account_id": "acme", "admin_user_id": "alice"}
ROOT = {"X-API-Key": "root"}


@pytest.fixture
async def http():
    async with calling(
        app_of(FakeHouse(), ServerRules(root_api_key="root", api_key="ready"))
    ) as it:
        yield it


def headers(made: httpx.Response) -> dict[str, str]:
    return {"X-API-Key": result_of(made)["user_key"]}


async def test_an_account_comes_with_an_admin_whose_key_works(http):
    made = await http.post(ACCOUNTS, json=ACME, headers=ROOT)
    assert result_of(made) == {**ACME, "user_key": "cf_key1"}
    status = result_of(await http.get("/api/v1/system/status", headers=headers(made)))
    assert (status["account"], status["user"], status["role"]) == ("acme", "alice", "admin")


async def test_accounts_are_listed_for_root(http):
    await http.post(ACCOUNTS, json=ACME, headers=ROOT)
    assert result_of(await http.get(ACCOUNTS, headers=ROOT)) == [
        {
            "account_id": "acme",
            "created_at": "2026-03-01T12:00:00Z",
            "user_count": 1,
            "status": "active",
        }
    ]


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ({"name": "beta"}, ["beta"]),
        ({"query": "ET"}, ["beta", "zeta"]),
        ({"limit": "2", "page": "2"}, ["zeta"]),
        ({"query": "eta", "limit": "1", "page": "2"}, ["zeta"]),
        ({"limit": "2", "page": "9"}, []),
    ],
)
async def test_a_list_of_accounts_is_narrowed_and_paged(http, asked, shown):
    for name in ("acme", "beta", "zeta"):
        account = {"account_id": name, "admin_user_id": "alice"}
        await http.post(ACCOUNTS, json=account, headers=ROOT)
    listed = result_of(await http.get(ACCOUNTS, params=asked, headers=ROOT))
    assert [one["account_id"] for one in listed] == shown


async def test_one_user_can_be_asked_for(http):
    alice = headers(await http.post(ACCOUNTS, json=ACME, headers=ROOT))
    await http.post(USERS, json={"user_id": "bob"}, headers=alice)
    assert result_of(await http.get(f"{USERS}/bob", headers=alice))["role"] == "user"
    admins = result_of(await http.get(USERS, params={"role": "admin"}, headers=alice))
    assert [one["user_id"] for one in admins] == ["alice"]
    error_of(await http.get(f"{USERS}/nobody", headers=alice), 404, "NOT_FOUND")


async def test_an_admin_makes_users_of_its_own_account_only(http):
    alice = headers(await http.post(ACCOUNTS, json=ACME, headers=ROOT))
    other = {"account_id": "other", "admin_user_id": "olga"}
    await http.post(ACCOUNTS, json=other, headers=ROOT)
    made = await http.post(USERS, json={"user_id": "bob", "role": "user"}, headers=alice)
    assert result_of(made) == {"account_id": "acme", "user_id": "bob", "user_key": "cf_key3"}
    listed = result_of(await http.get(USERS, headers=alice))
    assert [(one["user_id"], one["role"]) for one in listed] == [
        ("alice", "admin"),
        ("bob", "user"),
    ]
    elsewhere = USERS.replace("acme", "other")
    foreign = await http.post(elsewhere, json={"user_id": "eve"}, headers=alice)
    error_of(foreign, 403, "PERMISSION_DENIED")
    error_of(await http.get(elsewhere, headers=alice), 403, "PERMISSION_DENIED")


async def test_keys_are_listed_without_their_secrets(http):
    await http.post(ACCOUNTS, json=ACME, headers=ROOT)
    made = await http.post(
        KEYS, json={"account_id": "acme", "user_id": "alice", "label": "laptop"}, headers=ROOT
    )
    assert result_of(made)["user_key"] == "cf_key2"
    response = await http.get(KEYS, headers=ROOT)
    listed = result_of(response)
    assert [one["label"] for one in listed] == ["", "laptop"]
    assert listed[1] == {
        "key_id": result_of(made)["key_id"],
        "account_id": "acme",
        "user_id": "alice",
        "role": "admin",
        "hint": "cf_key2…",
        "label": "laptop",
        "created_at": "2026-03-01T12:00:00Z",
        "last_used_at": None,
    }


async def test_an_admin_sees_and_takes_back_keys_of_its_own_account_only(http):
    alice = headers(await http.post(ACCOUNTS, json=ACME, headers=ROOT))
    other = {"account_id": "other", "admin_user_id": "olga"}
    olga = headers(await http.post(ACCOUNTS, json=other, headers=ROOT))
    mine = result_of(await http.get(KEYS, headers=alice))
    theirs = result_of(await http.get(KEYS, headers=olga))
    assert [one["user_id"] for one in mine] == ["alice"]
    foreign = await http.delete(f"{KEYS}/{theirs[0]['key_id']}", headers=alice)
    error_of(foreign, 404, "NOT_FOUND")
    result_of(await http.get("/api/v1/system/status", headers=olga))


async def test_a_revoked_key_stops_working_at_once(http):
    alice = headers(await http.post(ACCOUNTS, json=ACME, headers=ROOT))
    result_of(await http.post(FIND, json={"query": "x"}, headers=alice))
    (key,) = result_of(await http.get(KEYS, headers=ROOT))
    assert key["last_used_at"] is None or key["key_id"]
    gone = await http.delete(f"{KEYS}/{key['key_id']}", headers=ROOT)
    assert result_of(gone) == {"key_id": key["key_id"], "revoked": True}
    error_of(await http.post(FIND, json={"query": "x"}, headers=alice), 401, "UNAUTHENTICATED")
    again = await http.delete(f"{KEYS}/{key['key_id']}", headers=ROOT)
    error_of(again, 404, "NOT_FOUND")


async def test_the_same_account_or_user_twice_already_exists(http):
    for _ in range(2):
        account = await http.post(ACCOUNTS, json=ACME, headers=ROOT)
        user = await http.post(USERS, json={"user_id": "bob"}, headers=ROOT)
    error_of(account, 409, "ALREADY_EXISTS")
    error_of(user, 409, "ALREADY_EXISTS")


async def test_users_and_keys_of_nobody_are_not_found(http):
    error_of(await http.get(USERS, headers=ROOT), 404, "NOT_FOUND")
    made = await http.post(USERS, json={"user_id": "bob"}, headers=ROOT)
    error_of(made, 404, "NOT_FOUND")
    await http.post(ACCOUNTS, json=ACME, headers=ROOT)
    key = await http.post(KEYS, json={"account_id": "acme", "user_id": "x"}, headers=ROOT)
    error_of(key, 404, "NOT_FOUND")


BAD_NAMES = [
    "", ".", "..", ".a", "-a", "~", "a/b", "/a", "a\\b", "a b", " a", "a\n", "a\x00", "a%2e", "a#", "a?",
    "x" * 65, "名", "ä", "a\u0308", "аlice", "\u202ealice", "alice\u200b", "a:b", "a+b", "a,b", "'a'",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_a_name_that_would_make_a_bad_address_is_refused(http, name):
    account = await http.post(ACCOUNTS, json={**ACME, "account_id": name}, headers=ROOT)
    error_of(account, 400, "INVALID_ARGUMENT")
    user = await http.post(USERS, json={"user_id": name}, headers=ROOT)
    error = error_of(user, 400, "INVALID_ARGUMENT")
    assert error["message"].startswith(f"user_id is {name!r:.90}")
    assert "1 to 64 letters" in error["message"]


GOOD_NAMES = ["a", "0", "Alice", "a.b-c_d@example.com", "x" * 64, "a..", "a."]


@pytest.mark.parametrize("name", GOOD_NAMES)
async def test_a_good_name_is_answered_as_sent_and_makes_an_address(http, name):
    body = {"account_id": name, "admin_user_id": name}
    made = await http.post(ACCOUNTS, json=body, headers=ROOT)
    assert result_of(made) == {**body, "user_key": "cf_key1"}
    listed = result_of(await http.get(f"{ACCOUNTS}/{name}/users", headers=ROOT))
    assert [(one["account_id"], one["user_id"]) for one in listed] == [(name, name)]
    status = result_of(await http.get("/api/v1/system/status", headers=headers(made)))
    assert (status["account"], status["user"]) == (name, name)
    assert Uri.parse("viking://~/memories", name) == Uri(f"viking://user/{name}/memories")


async def test_names_are_kept_apart_by_more_than_case(http):
    await http.post(ACCOUNTS, json=ACME, headers=ROOT)
    twin = await http.post(ACCOUNTS, json={**ACME, "account_id": "Acme"}, headers=ROOT)
    assert "only in case" in error_of(twin, 409, "ALREADY_EXISTS")["message"]
    user = await http.post(USERS, json={"user_id": "ALICE"}, headers=ROOT)
    assert "'alice'" in error_of(user, 409, "ALREADY_EXISTS")["message"]


@pytest.mark.parametrize("label", ["a\nb", "\x1b[2J", "\u202etxt", "x" * 201])
async def test_a_label_that_would_disturb_a_listing_is_refused(http, label):
    await http.post(ACCOUNTS, json=ACME, headers=ROOT)
    body = {"account_id": "acme", "user_id": "alice", "label": label}
    error = error_of(await http.post(KEYS, json=body, headers=ROOT), 400, "INVALID_ARGUMENT")
    assert error["message"].startswith("label is ")


async def test_nobody_is_made_root(http):
    await http.post(ACCOUNTS, json=ACME, headers=ROOT)
    made = await http.post(USERS, json={"user_id": "bob", "role": "root"}, headers=ROOT)
    error = error_of(made, 400, "INVALID_ARGUMENT")
    assert error["message"].startswith("role is 'root'; ")


async def test_without_any_key_the_local_caller_administers_everything(api):
    result_of(await api.http.post(ACCOUNTS, json={**ACME, "isolate": True}))
    result_of(await api.http.post(USERS, json={"user_id": "bob"}))
    assert len(result_of(await api.http.get(ACCOUNTS))) == 1
    keys = result_of(await api.http.get(KEYS))
    assert [one["user_id"] for one in keys] == ["alice", "bob"]
    result_of(await api.http.delete(f"{KEYS}/{keys[0]['key_id']}"))
