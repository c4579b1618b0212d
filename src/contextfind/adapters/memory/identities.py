"""Identity store in dicts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from contextfind.domain.errors import AlreadyExistsError, NotFoundError
from contextfind.domain.identity import Role
from contextfind.ports.identities import Account, Key, User


class MemoryIdentityStore:
    """`IdentityStore` without a file."""

    def __init__(self) -> None:
        self._accounts: dict[str, datetime] = {}
        self._users: dict[tuple[str, str], User] = {}
        self._keys: dict[str, Key] = {}

    async def add_account(self, account: str, admin: str, now: datetime) -> None:
        """See `IdentityStore.add_account`."""
        if account in self._accounts:
            raise AlreadyExistsError(f"account {account!r} exists", {"account": account})
        self._accounts[account] = now
        self._users[account, admin] = User(account, admin, "admin", now)

    async def add_user(self, account: str, user: str, role: Role, now: datetime) -> None:
        """See `IdentityStore.add_user`."""
        self._check_account(account)
        if (account, user) in self._users:
            raise AlreadyExistsError(f"user {user!r} exists in account {account!r}", {"user": user})
        self._users[account, user] = User(account, user, role, now)

    async def accounts(self) -> Sequence[Account]:
        """See `IdentityStore.accounts`."""
        return [
            Account(account, made, sum(owner == account for owner, _ in self._users))
            for account, made in sorted(self._accounts.items())
        ]

    async def users(self, account: str) -> Sequence[User]:
        """See `IdentityStore.users`."""
        self._check_account(account)
        return [user for (owner, _), user in sorted(self._users.items()) if owner == account]

    async def add_key(self, key: Key) -> None:
        """See `IdentityStore.add_key`."""
        owner = key.identity
        if (owner.account, owner.user) not in self._users:
            raise NotFoundError(
                f"there is no user {owner.user!r} in account {owner.account!r}",
                {"user": owner.user},
            )
        if key.id in self._keys or await self.key(key.digest) is not None:
            raise AlreadyExistsError(f"key {key.id!r} exists", {"key": key.id})
        self._keys[key.id] = key

    async def key(self, digest: str) -> Key | None:
        """See `IdentityStore.key`."""
        return next((key for key in self._keys.values() if key.digest == digest), None)

    async def keys(self, account: str | None = None) -> Sequence[Key]:
        """See `IdentityStore.keys`."""
        wanted = [key for key in self._keys.values() if account in (None, key.identity.account)]
        return sorted(wanted, key=lambda key: (key.created_at, key.id))

    async def revoke(self, key_id: str) -> bool:
        """See `IdentityStore.revoke`."""
        return self._keys.pop(key_id, None) is not None

    async def used(self, key_id: str, now: datetime) -> None:
        """See `IdentityStore.used`."""
        if key_id in self._keys:
            self._keys[key_id] = replace(self._keys[key_id], last_used_at=now)

    def _check_account(self, account: str) -> None:
        if account not in self._accounts:
            raise NotFoundError(f"there is no account {account!r}", {"account": account})
