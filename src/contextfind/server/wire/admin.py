"""admin/*: accounts, users and keys as JSON."""

import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from contextfind.domain.filter_values import LARGEST
from contextfind.domain.identity import NAME_PATTERN
from contextfind.ports import Account, Key, User
from contextfind.server.wire.body import Body, Params, Text
from contextfind.server.wire.listing import iso

_LABEL_LENGTH = 200  # characters
# Control characters and those that turn the direction of a line would disturb a listing.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def _name(text: str) -> str:
    if re.fullmatch(NAME_PATTERN, text) is None:
        raise PydanticCustomError(
            "name",
            "expected 1 to 64 letters (A-Z, a-z), digits or any of . _ @ -, "
            "the first one a letter or a digit",
        )
    return text


def _label(text: str) -> str:
    if _UNPRINTABLE.search(text) is not None:
        raise PydanticCustomError("label", "expected text on one line, without control characters")
    return text


Name = Annotated[
    str, AfterValidator(_name), Field(json_schema_extra={"pattern": f"^{NAME_PATTERN}$"})
]
Label = Annotated[Text, AfterValidator(_label), Field(max_length=_LABEL_LENGTH)]
UserRole = Literal["admin", "user"]

HINT_LENGTH = 8  # characters of a key that listings show: enough to recognise, too few to use


class AccountBody(Body):
    """A tenant to be made, with its first user."""

    account_id: Annotated[Name, Field(description="How the tenant is called.")]
    admin_user_id: Annotated[Name, Field(description="Its first user, an admin.")]


class UserBody(Body):
    """A user to be made."""

    user_id: Annotated[Name, Field(description="How the user is called.")]
    role: Annotated[UserRole, Field(description="An admin rules the users and keys.")] = "user"
    restore: Annotated[
        bool, Field(description="One of this name that was removed comes back, with its tree.")
    ] = False


class RoleBody(Body):
    """The role that a user shall have."""

    role: Annotated[UserRole, Field(description="An admin rules the users and keys.")]


class KeyBody(Body):
    """A key to be made for a user that is there."""

    account_id: Annotated[Name, Field(description="The user's account.")]
    user_id: Annotated[Name, Field(description="Who may use it.")]
    label: Annotated[Label, Field(description="What it is for, to tell keys apart.")] = ""


class Listing(Params):
    """Which lines of a list are wanted; without `limit` all of them."""

    name: Annotated[str | None, Field(description="The one of exactly this id.")] = None
    query: Annotated[str | None, Field(description="Those whose id holds this text.")] = None
    limit: Annotated[int | None, Field(ge=1, description="Lines of a page; absent is all.")] = None
    page: Annotated[int, Field(ge=1, le=LARGEST, description="Which page, from 1.")] = 1

    def chosen(self, ids: Iterable[str]) -> list[str]:
        """Return the ids that are meant, in the order they came in."""
        needle = "" if self.query is None else self.query.casefold()
        fitting = [one for one in ids if self.name in (None, one) and needle in one.casefold()]
        if self.limit is None:
            return fitting
        return fitting[(self.page - 1) * self.limit : self.page * self.limit]


class UserListing(Listing):
    """Which users are wanted."""

    role: Annotated[UserRole | None, Field(description="Those with this role.")] = None


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
