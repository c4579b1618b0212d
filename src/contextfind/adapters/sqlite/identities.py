"""The identity store in `contextfind.db`."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from contextfind.adapters.sqlite.database import Database
from contextfind.adapters.sqlite.rows import microseconds, moment_of
from contextfind.domain.errors import AlreadyExistsError, NotFoundError
from contextfind.domain.identity import Identity, Role
from contextfind.ports.identities import Account, Key, User

_KEYS = "SELECT id, account, user, role, digest, hint, label, created_at, last_used_at FROM keys"

_KeyRow = tuple[str, str, str, Role, str, str, str, int, int | None]


class SqliteIdentityStore:
    """`IdentityStore` in a database file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_account(self, account: str, admin: str, now: datetime) -> None:
        """See `IdentityStore.add_account`."""

        def work(connection: sqlite3.Connection) -> None:
            if _is_account(connection, account):
                raise AlreadyExistsError(f"account {account!r} exists", {"account": account})
            connection.execute("INSERT INTO accounts VALUES (?, ?)", (account, microseconds(now)))
            _insert_user(connection, User(account, admin, "admin", now))

        await self._database.write(work)

    async def add_user(self, account: str, user: str, role: Role, now: datetime) -> None:
        """See `IdentityStore.add_user`."""

        def work(connection: sqlite3.Connection) -> None:
            _check_account(connection, account)
            if _is_user(connection, account, user):
                raise AlreadyExistsError(
                    f"user {user!r} exists in account {account!r}", {"user": user}
                )
            _insert_user(connection, User(account, user, role, now))

        await self._database.write(work)

    async def accounts(self) -> Sequence[Account]:
        """See `IdentityStore.accounts`."""

        def work(connection: sqlite3.Connection) -> Sequence[Account]:
            rows = connection.execute(
                "SELECT id, created_at, (SELECT count(*) FROM users WHERE account = accounts.id)"
                " FROM accounts ORDER BY id"
            )
            return [Account(row[0], moment_of(row[1]), row[2]) for row in rows]

        return await self._database.read(work)

    async def users(self, account: str) -> Sequence[User]:
        """See `IdentityStore.users`."""

        def work(connection: sqlite3.Connection) -> Sequence[User]:
            _check_account(connection, account)
            rows = connection.execute(
                "SELECT account, id, role, created_at FROM users WHERE account = ? ORDER BY id",
                (account,),
            )
            return [User(row[0], row[1], row[2], moment_of(row[3])) for row in rows]

        return await self._database.read(work)

    async def add_key(self, key: Key) -> None:
        """See `IdentityStore.add_key`."""
        await self._database.write(lambda connection: _insert_key(connection, key))

    async def key(self, digest: str) -> Key | None:
        """See `IdentityStore.key`."""
        found = await self._select("WHERE digest = ?", (digest,))
        return found[0] if found else None

    async def keys(self, account: str | None = None) -> Sequence[Key]:
        """See `IdentityStore.keys`."""
        if account is None:
            return await self._select("ORDER BY created_at, id", ())
        return await self._select("WHERE account = ? ORDER BY created_at, id", (account,))

    async def revoke(self, key_id: str) -> bool:
        """See `IdentityStore.revoke`."""

        def work(connection: sqlite3.Connection) -> bool:
            return connection.execute("DELETE FROM keys WHERE id = ?", (key_id,)).rowcount > 0

        return await self._database.write(work)

    async def used(self, key_id: str, now: datetime) -> None:
        """See `IdentityStore.used`."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE keys SET last_used_at = ? WHERE id = ?", (microseconds(now), key_id)
            )

        await self._database.write(work)

    async def _select(self, rest: str, values: tuple[str, ...]) -> Sequence[Key]:
        def work(connection: sqlite3.Connection) -> Sequence[Key]:
            return [_key_of(row) for row in connection.execute(f"{_KEYS} {rest}", values)]

        return await self._database.read(work)


def _is_account(connection: sqlite3.Connection, account: str) -> bool:
    found = connection.execute("SELECT 1 FROM accounts WHERE id = ?", (account,))
    return found.fetchone() is not None


def _is_user(connection: sqlite3.Connection, account: str, user: str) -> bool:
    query = "SELECT 1 FROM users WHERE account = ? AND id = ?"
    return connection.execute(query, (account, user)).fetchone() is not None


def _check_account(connection: sqlite3.Connection, account: str) -> None:
    if not _is_account(connection, account):
        raise NotFoundError(f"there is no account {account!r}", {"account": account})


def _insert_user(connection: sqlite3.Connection, user: User) -> None:
    connection.execute(
        "INSERT INTO users (account, id, role, created_at) VALUES (?, ?, ?, ?)",
        (user.account, user.id, user.role, microseconds(user.created_at)),
    )


def _insert_key(connection: sqlite3.Connection, key: Key) -> None:
    owner = key.identity
    if not _is_user(connection, owner.account, owner.user):
        raise NotFoundError(
            f"there is no user {owner.user!r} in account {owner.account!r}", {"user": owner.user}
        )
    taken = connection.execute(
        "SELECT 1 FROM keys WHERE id = ? OR digest = ?", (key.id, key.digest)
    )
    if taken.fetchone() is not None:
        raise AlreadyExistsError(f"key {key.id!r} exists", {"key": key.id})
    last_used = None if key.last_used_at is None else microseconds(key.last_used_at)
    connection.execute(
        "INSERT INTO keys (id, account, user, role, digest, hint, label, created_at, last_used_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            key.id,
            owner.account,
            owner.user,
            owner.role,
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
