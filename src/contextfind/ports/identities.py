"""Accounts, users and keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from contextfind.domain.errors import AlreadyExistsError
from contextfind.domain.identity import Identity, Role


@dataclass(frozen=True, slots=True)
class Account:
    """A tenant."""

    id: str
    created_at: datetime
    user_count: int


@dataclass(frozen=True, slots=True)
class User:
    """A person or an agent of a tenant."""

    account: str
    id: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Secret:
    """What is kept of a key's secret: the SHA-256 of all of it and its first characters."""

    digest: str
    hint: str


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret: `hint` is its first characters, `digest` the SHA-256 of all of it.

    created_at: when the secret was made. last_used_at: of that secret, None when never.
    """

    id: str
    identity: Identity
    digest: str
    hint: str
    label: str
    created_at: datetime
    last_used_at: datetime | None = None


class IdentityStore(Protocol):
    """Who exists. Secrets are never stored, only their digests.

    A key has the role that its user has at the moment, whatever role it was added with. Names that
    differ only in the case of ASCII letters are one name to all who want to take it.
    """

    async def add_account(self, account: str, admin: str, now: datetime) -> None:
        """Make an account with one admin user.

        Raises:
            AlreadyExistsError: the account is there.

        """
        ...

    async def add_user(
        self, account: str, user: str, role: Role, now: datetime, *, restore: bool = False
    ) -> None:
        """Add a user.

        restore: a user of this name that was removed comes back, with this role and without keys.

        Raises:
            NotFoundError: no such account.
            AlreadyExistsError: the user is there, or was removed and `restore` is false.

        """
        ...

    async def remove_user(self, account: str, user: str, now: datetime) -> int:
        """Remove a user and all its keys in one step; return how many keys that were.

        The name stays taken: whoever got it would get the tree of its former owner.

        Raises:
            NotFoundError: no such account or user.

        """
        ...

    async def set_role(self, account: str, user: str, role: Role) -> None:
        """Change the role of a user and so of all its keys.

        Raises:
            NotFoundError: no such account or user.

        """
        ...

    async def accounts(self) -> Sequence[Account]:
        """Return all accounts by id; removed users are not counted."""
        ...

    async def users(self, account: str) -> Sequence[User]:
        """Return the users of an account by id, without removed ones.

        Raises:
            NotFoundError: no such account.

        """
        ...

    async def add_key(self, key: Key, *, alone: bool = False) -> None:
        """Store a key; `alone`: all other keys of its user are revoked in the same step.

        Raises:
            NotFoundError: its user does not exist. AlreadyExistsError: its id or digest is taken.

        """
        ...

    async def rotate(self, key: Key, secret: Secret, now: datetime) -> Key:
        """Give a key another secret and return it as it then is; the old one is dead at once.

        Raises:
            NotFoundError: the key is not in force any more.
            ConflictError: its secret is not the one that `key` has; somebody else was faster.
            AlreadyExistsError: the digest is taken.

        """
        ...

    async def key(self, digest: str) -> Key | None:
        """Return the key with this digest, None when it was never made or is revoked."""
        ...

    async def keys(self, account: str | None = None) -> Sequence[Key]:
        """Return the keys in force, oldest first."""
        ...

    async def revoke(self, key_id: str) -> bool:
        """Take a key back; false when there was none."""
        ...

    async def used(self, key_id: str, now: datetime) -> None:
        """Note the last use of a key (may be written late)."""
        ...


def taken_account(wanted: str, there: str) -> AlreadyExistsError:
    """Return the refusal of an account's name that is taken by `there`."""
    if wanted == there:
        return AlreadyExistsError(f"account {wanted!r} exists", {"account": wanted})
    return AlreadyExistsError(
        f"account {there!r} exists; {wanted!r} differs from it only in case", {"account": wanted}
    )


def taken_user(account: str, wanted: str, there: str, *, removed: bool) -> AlreadyExistsError:
    """Return the refusal of a user's name that is taken by `there`, in force or removed."""
    details = {"account": account, "user": wanted}
    if wanted != there:
        return AlreadyExistsError(
            f"account {account!r} has or had a user {there!r}; "
            f"{wanted!r} differs from it only in case",
            details,
        )
    if removed:
        return AlreadyExistsError(
            f"user {wanted!r} of account {account!r} was removed and its tree is kept; "
            "send restore=true to bring it back with that tree, or choose another name",
            {**details, "removed": True},
        )
    return AlreadyExistsError(f"user {wanted!r} exists in account {account!r}", details)
