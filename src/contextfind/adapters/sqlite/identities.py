"""The identity store in `contextfind.db`."""

import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from contextfind.adapters.sqlite.database import Database
from contextfind.domain.errors import AlreadyExistsError, ConflictError, NotFoundError
from contextfind.domain.identity import Identity, Role
from contextfind.domain.times import microseconds, moment_of
from contextfind.ports.identities import Account, Key, Secret, User, taken_account, taken_user

# The role is the user's, so that a changed one holds for all its keys at once.
_KEYS = (
    "SELECT keys.id, keys.account, keys.user, users.role, digest, hint, label, keys.created_at,"
    " last_used_at FROM keys JOIN users ON users.account = keys.account AND users.id = keys.user"
)
_ACCOUNTS = (
    "SELECT id, created_at, (SELECT count(*) FROM users WHERE account = accounts.id"
    " AND removed_at IS NULL) FROM accounts ORDER BY id"
)

_KNOWN_SECONDS = 1.0
_KEYS_KNOWN = 1_000
T = TypeVar("T")

_KeyRow = tuple[str, str, str, Role, str, str, str, int, int | None]


class SqliteIdentityStore:
    """`IdentityStore` in a database file.

    A key that was just looked up is known without the file until anything is written, and for a second at
    most: a write whose caller has gone may come through unseen.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[Key, float]] = {}  # by digest, until when
        self._writes = 0

    async def add_account(self, account: str, admin: str, now: datetime) -> None:
        """See `IdentityStore.add_account`."""

        def work(connection: sqlite3.Connection) -> None:
            query = "SELECT id FROM accounts WHERE lower(id) = lower(?)"
            there = connection.execute(query, (account,)).fetchone()
            if there is not None:
                raise taken_account(account, there[0])
            connection.execute("INSERT INTO accounts VALUES (?, ?)", (account, microseconds(now)))
            _insert_user(connection, User(account, admin, "admin", now))

        await self._write(work)

    async def add_user(
        self, account: str, user: str, role: Role, now: datetime, *, restore: bool = False
    ) -> None:
        """See `IdentityStore.add_user`."""

        def work(connection: sqlite3.Connection) -> None:
            _check_account(connection, account)
            query = "SELECT id, removed_at FROM users WHERE account = ? AND lower(id) = lower(?)"
            there = connection.execute(query, (account, user)).fetchone()
            if there is None:
                _insert_user(connection, User(account, user, role, now))
                return
            name, removed = there[0], there[1] is not None
            if not (removed and restore and name == user):
                raise taken_user(account, user, name, removed=removed)
            connection.execute(
                "UPDATE users SET removed_at = NULL, role = ? WHERE account = ? AND id = ?",
                (role, account, user),
            )

        await self._write(work)

    async def remove_user(self, account: str, user: str, now: datetime) -> int:
        """See `IdentityStore.remove_user`."""

        def work(connection: sqlite3.Connection) -> int:
            _check_user(connection, account, user)
            connection.execute(
                "UPDATE users SET removed_at = ? WHERE account = ? AND id = ?",
                (microseconds(now), account, user),
            )
            return _revoke_all(connection, account, user)

        return await self._write(work)

    async def set_role(self, account: str, user: str, role: Role) -> None:
        """See `IdentityStore.set_role`."""

        def work(connection: sqlite3.Connection) -> None:
            _check_user(connection, account, user)
            connection.execute(
                "UPDATE users SET role = ? WHERE account = ? AND id = ?", (role, account, user)
            )

        await self._write(work)

    async def accounts(self) -> Sequence[Account]:
        """See `IdentityStore.accounts`."""

        def work(connection: sqlite3.Connection) -> Sequence[Account]:
            rows = connection.execute(_ACCOUNTS)
            return [Account(row[0], moment_of(row[1]), row[2]) for row in rows]

        return await self._database.read(work)

    async def users(self, account: str) -> Sequence[User]:
        """See `IdentityStore.users`."""

        def work(connection: sqlite3.Connection) -> Sequence[User]:
            _check_account(connection, account)
            rows = connection.execute(
                "SELECT account, id, role, created_at FROM users"
                " WHERE account = ? AND removed_at IS NULL ORDER BY id",
                (account,),
            )
            return [User(row[0], row[1], row[2], moment_of(row[3])) for row in rows]

        return await self._database.read(work)

    async def add_key(self, key: Key, *, alone: bool = False) -> None:
        """See `IdentityStore.add_key`."""

        def work(connection: sqlite3.Connection) -> None:
            owner = key.identity
            _check_user(connection, owner.account, owner.user)
            _check_free(connection, key)
            if alone:
                _revoke_all(connection, owner.account, owner.user)
            _insert_key(connection, key)

        await self._write(work)

    async def rotate(self, key: Key, secret: Secret, now: datetime) -> Key:
        """See `IdentityStore.rotate`."""

        def work(connection: sqlite3.Connection) -> Key:
            stored = _keys_where(connection, "WHERE keys.id = ?", (key.id,))
            if not stored:
                raise NotFoundError(f"key {key.id!r} was revoked", {"key": key.id})
            if stored[0].digest != key.digest:
                raise ConflictError(
                    f"key {key.id!r} was rotated meanwhile", {"key": key.id, "retryable": True}
                )
            _check_digest(connection, key.id, secret.digest)
            connection.execute(
                "UPDATE keys SET digest = ?, hint = ?, created_at = ?, last_used_at = NULL"
                " WHERE id = ?",
                (secret.digest, secret.hint, microseconds(now), key.id),
            )
            return _keys_where(connection, "WHERE keys.id = ?", (key.id,))[0]

        return await self._write(work)

    async def key(self, digest: str) -> Key | None:
        """See `IdentityStore.key`."""
        now = time.monotonic()
        known, until = self._known.get(digest, (None, 0.0))
        if known is not None and now < until:
            return known
        writes = self._writes
        found = await self._select("WHERE digest = ?", (digest,))
        if not found:
            return None
        if writes == self._writes:  # else it may be what was there before
            if len(self._known) >= _KEYS_KNOWN:
                self._known.clear()
            self._known[digest] = found[0], now + _KNOWN_SECONDS
        return found[0]

    async def keys(self, account: str | None = None) -> Sequence[Key]:
        """See `IdentityStore.keys`."""
        by_age = "ORDER BY keys.created_at, keys.id"
        if account is None:
            return await self._select(by_age, ())
        return await self._select(f"WHERE keys.account = ? {by_age}", (account,))

    async def revoke(self, key_id: str) -> bool:
        """See `IdentityStore.revoke`."""

        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute("DELETE FROM keys WHERE id = ?", (key_id,)).rowcount > 0

        return await self._write(work)

    async def used(self, key_id: str, now: datetime) -> None:
        """See `IdentityStore.used`."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE keys SET last_used_at = ? WHERE id = ?", (microseconds(now), key_id)
            )

        try:
            await self._database.tidy(work)  # uncounted: somebody asks at any time
        finally:
            self._writes += 1

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._database.write(work)
        finally:
            self._writes += 1
            self._known.clear()

    async def _select(self, rest: str, values: tuple[str, ...]) -> Sequence[Key]:
        return await self._database.read(lambda connection: _keys_where(connection, rest, values))


def _keys_where(
    connection: sqlite3.Connection, rest: str, values: tuple[str, ...]
) -> Sequence[Key]:
    return [_key_of(row) for row in connection.execute(f"{_KEYS} {rest}", values)]


def _check_account(connection: sqlite3.Connection, account: str) -> None:
    found = connection.execute("SELECT 1 FROM accounts WHERE id = ?", (account,))
    if found.fetchone() is None:
        raise NotFoundError(f"there is no account {account!r}", {"account": account})


def _check_user(connection: sqlite3.Connection, account: str, user: str) -> None:
    _check_account(connection, account)
    query = "SELECT 1 FROM users WHERE account = ? AND id = ? AND removed_at IS NULL"
    if connection.execute(query, (account, user)).fetchone() is None:
        raise NotFoundError(f"there is no user {user!r} in account {account!r}", {"user": user})


def _check_free(connection: sqlite3.Connection, key: Key) -> None:
    if connection.execute("SELECT 1 FROM keys WHERE id = ?", (key.id,)).fetchone() is not None:
        raise AlreadyExistsError(f"key {key.id!r} exists", {"key": key.id})
    _check_digest(connection, key.id, key.digest)


def _check_digest(connection: sqlite3.Connection, key_id: str, digest: str) -> None:
    found = connection.execute("SELECT 1 FROM keys WHERE digest = ?", (digest,))
    if found.fetchone() is not None:
        raise AlreadyExistsError(f"the secret of key {key_id!r} is taken", {"key": key_id})


def _revoke_all(connection: sqlite3.Connection, account: str, user: str) -> int:
    query = "DELETE FROM keys WHERE account = ? AND user = ?"
    return connection.execute(query, (account, user)).rowcount


def _insert_user(connection: sqlite3.Connection, user: User) -> None:
    connection.execute(
        "INSERT INTO users (account, id, role, created_at) VALUES (?, ?, ?, ?)",
        (user.account, user.id, user.role, microseconds(user.created_at)),
    )


def _insert_key(connection: sqlite3.Connection, key: Key) -> None:
    last_used = None if key.last_used_at is None else microseconds(key.last_used_at)
    connection.execute(
        "INSERT INTO keys (id, account, user, digest, hint, label, created_at, last_used_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            key.id,
            key.identity.account,
            key.identity.user,
            key.digest,
            key.hint,
            key.label,
            microseconds(key.created_at),
            last_used,
        ),
    )


def _key_of(row: _KeyRow) -> Key:
    return Key(
        id=row[0],
        identity=Identity(row[1], row[2], row[3]),
        digest=row[4],
        hint=row[5],
        label=row[6],
        created_at=moment_of(row[7]),
        last_used_at=None if row[8] is None else moment_of(row[8]),
    )
