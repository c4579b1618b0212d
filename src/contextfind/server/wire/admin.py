"""admin/*: accounts, users and keys as JSON."""

from typing import Annotated, Literal

from pydantic import Field

from contextfind.ports import Account, Key, User
from contextfind.server.wire.body import Body, Text
from contextfind.server.wire.listing import iso

# A name becomes a segment of addresses: no slash, no dots alone, nothing that needs quoting.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]

HINT_LENGTH = 8  # characters of a key that listings show: enough to recognise, too few to use


class AccountBody(Body):
    """A tenant to be made, with its first user."""

    account_id: Name
    admin_user_id: Name


class UserBody(Body):
    """A user to be made."""

    user_id: Name
    role: Literal["admin", "user"] = "user"


class KeyBody(Body):
    """A key to be made for a user that is there."""

    account_id: Name
    user_id: Name
    label: Annotated[Text, Field(max_length=200)] = ""


def account(one: Account) -> dict[str, object]:
    """Return a tenant."""
    return {
        "account_id": one.id,
        "created_at": iso(one.created_at),
        "user_count": one.user_count,
        "status": "active",
    }


def user(one: User) -> dict[str, object]:
    """Return a user."""
    return {
        "account_id": one.account,
        "user_id": one.id,
        "role": one.role,
        "created_at": iso(one.created_at),
    }


def key(one: Key) -> dict[str, object]:
    """Return a key without its secret."""
    return {
        "key_id": one.id,
        "account_id": one.identity.account,
        "user_id": one.identity.user,
        "role": one.identity.role,
        "hint": one.hint + "…",
        "label": one.label,
        "created_at": iso(one.created_at),
        "last_used_at": None if one.last_used_at is None else iso(one.last_used_at),
    }
