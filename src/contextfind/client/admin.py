"""Accounts, users and keys; needs a root or admin key, but for one's own keys."""

from collections.abc import Mapping
from typing import Any, Literal

from contextfind.client.answers import JsonObject
from contextfind.client.envelope import API, nothing, result_of, segment
from contextfind.client.exchange import Answer, Request
from contextfind.client.flow import Flow, ask

Role = Literal["admin", "user"]
_ADMIN = f"{API}/admin"


def accounts() -> Flow[list[JsonObject]]:
    """Return all accounts (root key)."""
    return ask(Request("GET", f"{_ADMIN}/accounts", _rows, again=True))


def add_account(account: str, admin: str) -> Flow[JsonObject]:
    """Make an account with its first user and return that user's key (root key)."""
    return _post("accounts", {"account_id": account, "admin_user_id": admin})


def users(account: str) -> Flow[list[JsonObject]]:
    """Return the users of an account."""
    path = f"{_ADMIN}/accounts/{segment(account)}/users"
    return ask(Request("GET", path, _rows, again=True))


def add_user(
    account: str, user: str, role: Role = "user", *, restore: bool = False
) -> Flow[JsonObject]:
    """Make a user and return the first key; `restore` brings a removed one back with its tree."""
    body = {"user_id": user, "role": role, **({"restore": True} if restore else {})}
    return _post(f"accounts/{segment(account)}/users", body)


def remove_user(account: str, user: str) -> Flow[JsonObject]:
    """Remove a user; its keys (`revoked_keys`) stop working at once, its tree stays."""
    return ask(Request("DELETE", f"{_ADMIN}/{_user(account, user)}", _row))


def set_role(account: str, user: str, role: Role) -> Flow[JsonObject]:
    """Give a user another role; it holds for all its keys at once."""
    path = f"{_ADMIN}/{_user(account, user)}/role"
    return ask(Request("PUT", path, _row, body={"role": role}, again=True))


def renew_key(account: str, user: str) -> Flow[JsonObject]:
    """End all keys of a user and return a new one; its secret is in this answer only."""
    return _post(f"{_user(account, user)}/key", {})


def keys(account: str | None = None) -> Flow[list[JsonObject]]:
    """Return the keys in force that you may see, without their secrets; of one account or all."""
    only = {} if account is None else {"account_id": account}
    return ask(Request("GET", f"{_ADMIN}/keys", _rows, only, again=True))


def add_key(account: str, user: str, label: str = "") -> Flow[JsonObject]:
    """Make a key for a user; its secret is in this answer and never again."""
    return _post("keys", {"account_id": account, "user_id": user, "label": label})


def rotate_key(key_id: str) -> Flow[JsonObject]:
    """Give a key another secret, which is in this answer only; the old one is dead at once."""
    return _post(f"keys/{segment(key_id)}/rotate", {})


def revoke_key(key_id: str) -> Flow[None]:
    """Take a key back; it stops working at once."""
    return ask(Request("DELETE", f"{_ADMIN}/keys/{segment(key_id)}", nothing))


def _post(path: str, body: Mapping[str, object]) -> Flow[JsonObject]:
    return ask(Request("POST", f"{_ADMIN}/{path}", _row, body=body))


def _user(account: str, user: str) -> str:
    return f"accounts/{segment(account)}/users/{segment(user)}"


def _row(answer: Answer) -> JsonObject:
    row: dict[str, Any] = result_of(answer)
    return row


def _rows(answer: Answer) -> list[JsonObject]:
    rows: list[JsonObject] = result_of(answer)
    return rows
