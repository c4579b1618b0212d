"""Making keys, and finding one to take back."""

from collections.abc import Sequence

from contextfind.domain.errors import NotFoundError
from contextfind.domain.identity import Identity
from contextfind.ports import Key
from contextfind.server.auth import digest_of
from contextfind.server.house import House
from contextfind.server.rules import Mint
from contextfind.server.wire.admin import HINT_LENGTH


async def issue(house: House, mint: Mint, identity: Identity, label: str = "") -> tuple[str, Key]:
    """Store a new key of an existing user; return its secret, which exists nowhere else, and it.

    Raises:
        NotFoundError: no such user.

    """
    secret = mint.key()
    key = Key(
        id=house.new_id(),
        identity=identity,
        digest=digest_of(secret),
        hint=secret[:HINT_LENGTH],
        label=label,
        created_at=house.clock(),
    )
    await house.identities.add_key(key)
    return secret, key


async def user_named(house: House, account: str, user: str) -> Identity:
    """Return the identity of a user with the role it has.

    Raises:
        NotFoundError: no such account, or no such user in it.

    """
    for one in await house.identities.users(account):
        if one.id == user:
            return Identity(account, user, one.role)
    raise NotFoundError(f"account {account!r} has no user {user!r}", {"resource": user})


def key_named(keys: Sequence[Key], key_id: str) -> Key:
    """Return one of `keys`.

    Raises:
        NotFoundError: it is not among them.

    """
    for key in keys:
        if key.id == key_id:
            return key
    raise NotFoundError(f"no key {key_id!r}", {"resource": key_id, "type": "key"})
