"""The identity store in PostgreSQL."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from psycopg import AsyncConnection

from contextfind.adapters.postgres.database import Database
from contextfind.adapters.postgres.schema import lock_number
from contextfind.adapters.postgres.texts import restored, storable
from contextfind.domain.errors import AlreadyExistsError, ConflictError, NotFoundError
from contextfind.domain.identity import Identity, Role
from contextfind.domain.times import microseconds, moment_of
from contextfind.ports.identities import Account, Key, Secret, User, taken_account, taken_user

# The role is the user's, so that a changed one holds for all its keys at once.
_KEYS = (
    'SELECT keys.id, keys.account, keys."user", users.role, digest, hint, label, keys.created_at,'
    ' last_used_at FROM keys JOIN users ON users.account = keys.account AND users.id = keys."user"'
)
_ACCOUNTS = (
    "SELECT id, created_at, (SELECT count(*) FROM users WHERE account = accounts.id"
    " AND removed_at IS NULL) FROM accounts ORDER BY id"
)
_INSERT_KEY = (
    'INSERT INTO keys (id, account, "user", digest, hint, label, created_at, last_used_at)'
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
)

T = TypeVar("T")
_Values = tuple[str | int | None, ...]
_KeyRow = tuple[str, str, str, Role, str, str, str, int, int | None]


class PostgresIdentityStore:
    """`IdentityStore` in a schema that several processes share.

    Nothing is remembered between two calls: what another process has revoked is dead here at once.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_account(self, account: str, admin: str, now: datetime) -> None:
        """See `IdentityStore.add_account`."""

        async def work(connection: AsyncConnection) -> None:
            query = "SELECT id FROM accounts WHERE lower(id) = lower(%s)"
            there = await _first(connection, query, (account,))
            if there is not None:
                raise taken_account(account, str(there[0]))
            await connection.execute(
                "INSERT INTO accounts VALUES (%s, %s)", (account, microseconds(now))
            )
            await _insert_user(connection, User(account, admin, "admin", now))

        await self._alone(work)

    async def add_user(
        self, account: str, user: str, role: Role, now: datetime, *, restore: bool = False
    ) -> None:
        """See `IdentityStore.add_user`."""

        async def work(connection: AsyncConnection) -> None:
            await _check_account(connection, account)
            query = "SELECT id, removed_at FROM users WHERE account = %s AND lower(id) = lower(%s)"
            there = await _first(connection, query, (account, user))
            if there is None:
                await _insert_user(connection, User(account, user, role, now))
                return
            name, removed = str(there[0]), there[1] is not None
            if not (removed and restore and name == user):
                raise taken_user(account, user, name, removed=removed)
            await connection.execute(
                "UPDATE users SET removed_at = NULL, role = %s WHERE account = %s AND id = %s",
                (role, account, user),
            )

        await self._alone(work)

    async def remove_user(self, account: str, user: str, now: datetime) -> int:
        """See `IdentityStore.remove_user`."""

        async def work(connection: AsyncConnection) -> int:
            await _check_user(connection, account, user)
            await connection.execute(
                "UPDATE users SET removed_at = %s WHERE account = %s AND id = %s",
                (microseconds(now), account, user),
            )
            return await _revoke_all(connection, account, user)

        return await self._alone(work)

    async def set_role(self, account: str, user: str, role: Role) -> None:
        """See `IdentityStore.set_role`."""

        async def work(connection: AsyncConnection) -> None:
            await _check_user(connection, account, user)
            await connection.execute(
                "UPDATE users SET role = %s WHERE account = %s AND id = %s", (role, account, user)
            )

        await self._alone(work)

    async def accounts(self) -> Sequence[Account]:
        """See `IdentityStore.accounts`."""

        async def work(connection: AsyncConnection) -> Sequence[Account]:
            cursor = await connection.execute(_ACCOUNTS)
            return [Account(row[0], moment_of(row[1]), row[2]) async for row in cursor]

        return await self._database.glance(work)

    async def users(self, account: str) -> Sequence[User]:
        """See `IdentityStore.users`."""

        async def work(connection: AsyncConnection) -> Sequence[User]:
            await _check_account(connection, account)
            cursor = await connection.execute(
                "SELECT account, id, role, created_at FROM users"
                " WHERE account = %s AND removed_at IS NULL ORDER BY id",
                (storable(account),),
            )
            return [User(row[0], row[1], row[2], moment_of(row[3])) async for row in cursor]

        return await self._database.house(work)

    async def add_key(self, key: Key, *, alone: bool = False) -> None:
        """See `IdentityStore.add_key`."""

        async def work(connection: AsyncConnection) -> None:
            owner = key.identity
            await _check_user(connection, owner.account, owner.user)
            await _check_free(connection, key)
            if alone:
                await _revoke_all(connection, owner.account, owner.user)
            await connection.execute(_INSERT_KEY, _row_of(key))

        await self._alone(work)

    async def rotate(self, key: Key, secret: Secret, now: datetime) -> Key:
        """See `IdentityStore.rotate`."""

        async def work(connection: AsyncConnection) -> Key:
            stored = await _keys_where(connection, "WHERE keys.id = %s", (key.id,))
            if not stored:
                raise NotFoundError(f"key {key.id!r} was revoked", {"key": key.id})
            if stored[0].digest != key.digest:
                raise ConflictError(
                    f"key {key.id!r} was rotated meanwhile", {"key": key.id, "retryable": True}
                )
            await _check_digest(connection, key.id, secret.digest)
            await connection.execute(
                "UPDATE keys SET digest = %s, hint = %s, created_at = %s, last_used_at = NULL"
                " WHERE id = %s",
                (secret.digest, secret.hint, microseconds(now), key.id),
            )
            return (await _keys_where(connection, "WHERE keys.id = %s", (key.id,)))[0]

        return await self._alone(work)

    async def key(self, digest: str) -> Key | None:
        """See `IdentityStore.key`."""
        found = await self._select("WHERE digest = %s", (digest,))
        return found[0] if found else None

    async def keys(self, account: str | None = None) -> Sequence[Key]:
        """See `IdentityStore.keys`."""
        by_age = "ORDER BY keys.created_at, keys.id"
        if account is None:
            return await self._select(by_age, ())
        return await self._select(f"WHERE keys.account = %s {by_age}", (account,))

    async def revoke(self, key_id: str) -> bool:
        """See `IdentityStore.revoke`."""

        async def work(connection: AsyncConnection) -> bool:
            cursor = await connection.execute("DELETE FROM keys WHERE id = %s", (storable(key_id),))
            return cursor.rowcount > 0

        return await self._alone(work)

    async def used(self, key_id: str, now: datetime) -> None:
        """See `IdentityStore.used`."""

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(
                "UPDATE keys SET last_used_at = %s WHERE id = %s", (microseconds(now), key_id)
            )

        await self._database.tidy(work)  # uncounted: somebody asks at any time

    async def _alone(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """Do `work` as the only one of all processes that changes who exists: it looks first and writes then."""
        number = lock_number(self._database.place.schema, "identities")

        async def locked(connection: AsyncConnection) -> T:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (number,))
            return await work(connection)

        return await self._database.write(locked)

    async def _select(self, rest: str, values: _Values) -> Sequence[Key]:
        return await self._database.glance(lambda c: _keys_where(c, rest, values))


async def _first(
    connection: AsyncConnection, query: str, values: tuple[str, ...]
) -> tuple[object, ...] | None:
    cursor = await connection.execute(query, tuple(map(storable, values)))
    return await cursor.fetchone()


async def _keys_where(connection: AsyncConnection, rest: str, values: _Values) -> Sequence[Key]:
    known = tuple(storable(one) if isinstance(one, str) else one for one in values)
    cursor = await connection.execute(f"{_KEYS} {rest}", known)
    return [_key_of(row) async for row in cursor]


async def _check_account(connection: AsyncConnection, account: str) -> None:
    if await _first(connection, "SELECT 1 FROM accounts WHERE id = %s", (account,)) is None:
        raise NotFoundError(f"there is no account {account!r}", {"account": account})


async def _check_user(connection: AsyncConnection, account: str, user: str) -> None:
    await _check_account(connection, account)
    query = "SELECT 1 FROM users WHERE account = %s AND id = %s AND removed_at IS NULL"
    if await _first(connection, query, (account, user)) is None:
        raise NotFoundError(f"there is no user {user!r} in account {account!r}", {"user": user})


async def _check_free(connection: AsyncConnection, key: Key) -> None:
    if await _first(connection, "SELECT 1 FROM keys WHERE id = %s", (key.id,)) is not None:
        raise AlreadyExistsError(f"key {key.id!r} exists", {"key": key.id})
    await _check_digest(connection, key.id, key.digest)


async def _check_digest(connection: AsyncConnection, key_id: str, digest: str) -> None:
    if await _first(connection, "SELECT 1 FROM keys WHERE digest = %s", (digest,)) is not None:
        raise AlreadyExistsError(f"the secret of key {key_id!r} is taken", {"key": key_id})


async def _revoke_all(connection: AsyncConnection, account: str, user: str) -> int:
    query = 'DELETE FROM keys WHERE account = %s AND "user" = %s'
    return (await connection.execute(query, (account, user))).rowcount


async def _insert_user(connection: AsyncConnection, user: User) -> None:
    await connection.execute(
        "INSERT INTO users (account, id, role, created_at) VALUES (%s, %s, %s, %s)",
        (user.account, user.id, user.role, microseconds(user.created_at)),
    )


def _row_of(key: Key) -> _Values:
    return (
        key.id,
        key.identity.account,
        key.identity.user,
        key.digest,
        key.hint,
        storable(key.label),
        microseconds(key.created_at),
        None if key.last_used_at is None else microseconds(key.last_used_at),
    )


def _key_of(row: _KeyRow) -> Key:
    return Key(
        id=row[0],
        identity=Identity(row[1], row[2], row[3]),
        digest=row[4],
        hint=row[5],
        label=restored(row[6]),
        created_at=moment_of(row[7]),
        last_used_at=None if row[8] is None else moment_of(row[8]),
    )
