import json

from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer

ACCOUNTS = "/api/v1/admin/accounts"
KEYS = "/api/v1/admin/keys"


def test_accounts_are_listed_with_the_servers_columns(stub: StubServer) -> None:
    stub.results("GET", ACCOUNTS, [{"account_id": "acme", "user_count": 2, "note": None}])
    lines = call("accounts", "list", stub=stub).stdout.splitlines()
    assert lines[0].split() == ["account_id", "user_count", "note"]
    assert lines[1].split() == ["acme", "2"]


def test_no_rows_are_told(stub: StubServer) -> None:
    stub.results("GET", KEYS, [])
    assert call("keys", "list", stub=stub).stdout == "(none)\n"


def test_a_new_account_prints_its_key_alone_on_stdout(stub: StubServer) -> None:
    stub.results("POST", ACCOUNTS, {"account_id": "acme", "user_key": "cf_secret"})
    result = call("accounts", "create", "acme", "--admin", "alice", stub=stub)
    assert stub.last.json == {"account_id": "acme", "admin_user_id": "alice"}
    assert result.stdout == "cf_secret\n"
    assert "only now" in result.stderr


def test_users_belong_to_an_account(stub: StubServer) -> None:
    stub.results("GET", f"{ACCOUNTS}/acme/users", [{"user_id": "bob", "role": "user"}])
    assert "bob" in call("users", "list", "acme", stub=stub).stdout
    stub.results("POST", f"{ACCOUNTS}/acme/users", {"user_id": "eve", "user_key": "cf_eve"})
    result = call("users", "create", "acme", "eve", "--role", "admin", stub=stub)
    assert result.stdout == "cf_eve\n"
    assert stub.last.json == {"user_id": "eve", "role": "admin"}


def test_keys_are_made_and_revoked(stub: StubServer) -> None:
    stub.results("POST", KEYS, {"key_id": "k1", "user_key": "cf_new"})
    result = call("keys", "create", "acme", "bob", "--label", "laptop", stub=stub)
    assert result.stdout == "cf_new\n"
    assert stub.last.json == {"account_id": "acme", "user_id": "bob", "label": "laptop"}
    stub.results("DELETE", f"{KEYS}/k1", {"key_id": "k1"})
    assert call("keys", "revoke", "k1", stub=stub).stdout == "revoked k1\n"


def test_a_key_for_programs_is_the_whole_answer(stub: StubServer) -> None:
    stub.results("POST", KEYS, {"key_id": "k1", "user_key": "cf_new"})
    result = call("keys", "create", "acme", "bob", "--json", stub=stub)
    assert json.loads(result.stdout) == {"key_id": "k1", "user_key": "cf_new"}


def test_a_user_key_is_not_enough(stub: StubServer) -> None:
    stub.fails("GET", ACCOUNTS, 403, "PERMISSION_DENIED", "this needs the root key")
    result = call("accounts", "list", stub=stub)
    assert result.exit_code == 5
    assert "this needs the root key" in result.stderr


def test_a_key_never_used_says_so_and_one_that_was_says_when(stub: StubServer) -> None:
    used = {"key_id": "k1", "last_used_at": "2026-03-01T12:00:00Z"}
    stub.results("GET", KEYS, [used, {"key_id": "k2", "last_used_at": None}])
    lines = call("keys", "list", stub=stub).stdout.splitlines()
    assert [line.split() for line in lines[1:]] == [["k1", "2026-03-01T12:00:00Z"], ["k2", "never"]]
    assert stub.last.query == {}
    told = json.loads(call("keys", "list", "--account", "acme", "--json", stub=stub).stdout)
    assert told[1] == {"key_id": "k2", "last_used_at": None}
    assert stub.last.query == {"account_id": "acme"}


def test_a_rotated_or_renewed_key_is_printed_alone(stub: StubServer) -> None:
    stub.results("POST", f"{KEYS}/k1/rotate", {"key_id": "k1", "user_key": "cf_new"})
    result = call("keys", "rotate", "k1", stub=stub)
    assert result.stdout == "cf_new\n"
    assert "only now" in result.stderr
    stub.results("POST", f"{ACCOUNTS}/acme/users/bob/key", {"user_key": "cf_newer"})
    assert call("keys", "renew", "acme", "bob", stub=stub).stdout == "cf_newer\n"


def test_users_are_removed_and_brought_back(stub: StubServer) -> None:
    gone = {"user_id": "bob", "removed": True, "revoked_keys": 2}
    stub.results("DELETE", f"{ACCOUNTS}/acme/users/bob", gone)
    result = call("users", "remove", "acme", "bob", stub=stub)
    assert result.stdout == "removed bob; keys revoked: 2\n"
    assert json.loads(call("users", "remove", "acme", "bob", "--json", stub=stub).stdout) == gone
    stub.results("POST", f"{ACCOUNTS}/acme/users", {"user_id": "bob", "user_key": "cf_bob"})
    assert call("users", "create", "acme", "bob", "--restore", stub=stub).stdout == "cf_bob\n"
    assert stub.last.json == {"user_id": "bob", "role": "user", "restore": True}


def test_a_user_gets_another_role(stub: StubServer) -> None:
    stub.results("PUT", f"{ACCOUNTS}/acme/users/bob/role", {"user_id": "bob", "role": "admin"})
    result = call("users", "role", "acme", "bob", "admin", stub=stub)
    assert result.stdout == "bob has the role admin\n"
    assert stub.last.json == {"role": "admin"}
    assert call("users", "role", "acme", "bob", "root", stub=stub).exit_code == 2
