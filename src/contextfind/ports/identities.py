"""Accounts, users and keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

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
class Key:
    """A key without its secret: `hint` is its first characters, `digest` the SHA-256 of all of it."""

    id: str
    identity: Identity
    digest: str
    hint: str
    label: str
    created_at: datetime
    last_used_at: datetime | None = None


class IdentityStore(Protocol):
    """Who exists. Secrets are never stored, only their digests."""

    async def add_account(self, account: str, admin: str, now: datetime) -> None:
        """Make an account with one admin user.

        Raises:
            AlreadyExistsError: the account is there.

        """
        ...

    async def add_user(self, account: str, user: str, role: Role, now: datetime) -> None:
        """Add a user.

        Raises:
            NotFoundError: no such account. AlreadyExistsError: the user is there.

        """
        ...

    async def accounts(self) -> Sequence[Account]:
        """Return all accounts by id."""
        ...

    async def users(self, account: str) -> Sequence[User]:
        """Return the users of an account by id.

        Raises:
            NotFoundError: no such account.

        """
        ...

    async def add_key(self, key: Key) -> None:
        """Store a key.

        Raises:
            NotFoundError: its user does not exist. AlreadyExistsError: its id or digest is taken.

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
