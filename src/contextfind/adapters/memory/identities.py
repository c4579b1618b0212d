"""Identity store in dicts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from contextfind.domain.errors import AlreadyExistsError, ConflictError, NotFoundError
from contextfind.domain.identity import Role
from contextfind.ports.identities import Account, Key, Secret, User, taken_account, taken_user


class MemoryIdentityStore:
    """`IdentityStore` without a file."""

    def __init__(self) -> None:
        self._accounts: dict[str, datetime] = {}
        self._users: dict[tuple[str, str], User] = {}
        self._removed: dict[tuple[str, str], User] = {}
        self._keys: dict[str, Key] = {}

    async def add_account(self, account: str, admin: str, now: datetime) -> None:
        """See `IdentityStore.add_account`."""
        for there in self._accounts:
            if there.lower() == account.lower():
                raise taken_account(account, there)
        self._accounts[account] = now
        self._users[account, admin] = User(account, admin, "admin", now)

    async def add_user(
        self, account: str, user: str, role: Role, now: datetime, *, restore: bool = False
    ) -> None:
        """See `IdentityStore.add_user`."""
        self._check_account(account)
        for place in (*self._users, *self._removed):
            if (place[0], place[1].lower()) == (account, user.lower()):
                removed = place in self._removed
                if not (removed and restore and place[1] == user):
                    raise taken_user(account, user, place[1], removed=removed)
        former = self._removed.pop((account, user), User(account, user, role, now))
        self._users[account, user] = replace(former, role=role)

    async def remove_user(self, account: str, user: str, now: datetime) -> int:  # noqa: ARG002
        """See `IdentityStore.remove_user`."""
        self._check_user(account, user)
        self._removed[account, user] = self._users.pop((account, user))
        return self._revoke_all(account, user)

    async def set_role(self, account: str, user: str, role: Role) -> None:
        """See `IdentityStore.set_role`."""
        self._check_user(account, user)
        self._users[account, user] = replace(self._users[account, user], role=role)

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

    async def add_key(self, key: Key, *, alone: bool = False) -> None:
        """See `IdentityStore.add_key`."""
        owner = key.identity
        self._check_user(owner.account, owner.user)
        if key.id in self._keys:
            raise AlreadyExistsError(f"key {key.id!r} exists", {"key": key.id})
        self._check_digest(key.id, key.digest)
        if alone:
            self._revoke_all(owner.account, owner.user)
        self._keys[key.id] = key

    async def rotate(self, key: Key, secret: Secret, now: datetime) -> Key:
        """See `IdentityStore.rotate`."""
        stored = self._keys.get(key.id)
        if stored is None:
            raise NotFoundError(f"key {key.id!r} was revoked", {"key": key.id})
        if stored.digest != key.digest:
            raise ConflictError(
                f"key {key.id!r} was rotated meanwhile", {"key": key.id, "retryable": True}
            )
        self._check_digest(key.id, secret.digest)
        self._keys[key.id] = replace(
            stored, digest=secret.digest, hint=secret.hint, created_at=now, last_used_at=None
        )
        return self._in_force(self._keys[key.id])

    async def key(self, digest: str) -> Key | None:
        """See `IdentityStore.key`."""
        found = (key for key in self._keys.values() if key.digest == digest)
        return next((self._in_force(key) for key in found), None)

    async def keys(self, account: str | None = None) -> Sequence[Key]:
        """See `IdentityStore.keys`."""
        wanted = [key for key in self._keys.values() if account in (None, key.identity.account)]
        return [
            self._in_force(key) for key in sorted(wanted, key=lambda key: (key.created_at, key.id))
        ]

    async def revoke(self, key_id: str) -> bool:
        """See `IdentityStore.revoke`."""
        return self._keys.pop(key_id, None) is not None

    async def used(self, key_id: str, now: datetime) -> None:
        """See `IdentityStore.used`."""
        if key_id in self._keys:
            self._keys[key_id] = replace(self._keys[key_id], last_used_at=now)

    def _in_force(self, key: Key) -> Key:
        """Return the key with the role its user has now."""
        owner = self._users[key.identity.account, key.identity.user]
        return replace(key, identity=replace(key.identity, role=owner.role))

    def _revoke_all(self, account: str, user: str) -> int:
        before = len(self._keys)
        self._keys = {
            name: key
            for name, key in self._keys.items()
            if (key.identity.account, key.identity.user) != (account, user)
        }
        return before - len(self._keys)

    def _check_account(self, account: str) -> None:
        if account not in self._accounts:
            raise NotFoundError(f"there is no account {account!r}", {"account": account})

    def _check_user(self, account: str, user: str) -> None:
        self._check_account(account)
        if (account, user) not in self._users:
            raise NotFoundError(f"there is no user {user!r} in account {account!r}", {"user": user})

    def _check_digest(self, key_id: str, digest: str) -> None:
        if any(key.digest == digest for key in self._keys.values()):
            raise AlreadyExistsError(f"the secret of key {key_id!r} is taken", {"key": key_id})
