"""Making keys, giving them other secrets, and finding those that a caller may touch."""

from collections.abc import Sequence

from contextfind.domain.errors import InvalidArgumentError, NotFoundError
from contextfind.domain.identity import Identity
from contextfind.ports import Key
from contextfind.ports.identities import Secret
from contextfind.server.auth import Gatekeeper, check_administers, digest_of
from contextfind.server.house import House
from contextfind.server.rules import KEY_START, Mint
from contextfind.server.wire.admin import HINT_LENGTH


async def issue(
    house: House, mint: Mint, identity: Identity, label: str = "", *, alone: bool = False
) -> tuple[str, Key]:
    """Store a new key of an existing user; return its secret, which exists nowhere else, and it.

    alone: all other keys of the user are dead from now on.

    Raises:
        NotFoundError: no such user.

    """
    text = mint.key()
    secret = _secret_of(text)
    key = Key(
        id=house.new_id(),
        identity=identity,
        digest=secret.digest,
        hint=secret.hint,
        label=label,
        created_at=house.clock(),
    )
    await house.identities.add_key(key, alone=alone)
    return text, key


async def rotate(house: House, mint: Mint, key: Key) -> tuple[str, Key]:
    """Give a key another secret, dead to the old one at once; return the secret and the key.

    Raises:
        NotFoundError: it was revoked meanwhile. ConflictError: it was rotated meanwhile.

    """
    text = mint.key()
    return text, await house.identities.rotate(key, _secret_of(text), house.clock())


async def keys_in_reach(
    house: House, keeper: Gatekeeper, caller: Identity, account: str | None = None
) -> Sequence[Key]:
    """Return the keys a caller may see, rotate and revoke: all, its account's, or its own.

    account: those of one account; None is all that are in reach.

    Raises:
        PermissionDeniedError: the account is not the caller's.

    """
    if keeper.may_administer(caller, None):
        return await house.identities.keys(account)
    if account not in (None, caller.account):
        check_administers(keeper, caller, account)
    found = await house.identities.keys(caller.account)
    if keeper.may_administer(caller, caller.account):
        return found
    # The role counts, too: a configured key never takes over an admin key of the same name.
    return [key for key in found if key.identity == caller]


def key_named(keys: Sequence[Key], key_id: str) -> Key:
    """Return one of `keys`.

    Raises:
        InvalidArgumentError: a key was sent instead of its id.
        NotFoundError: it is not among them.

    """
    if key_id.startswith(KEY_START):
        raise InvalidArgumentError(
            f"key_id is {key_id[:HINT_LENGTH] + '…'!r}, which looks like a key; "
            "expected the key_id that GET /api/v1/admin/keys shows",
            {"field": "key_id"},
        )
    for key in keys:
        if key.id == key_id:
            return key
    raise NotFoundError(
        f"no key {key_id!r} that you may touch; GET /api/v1/admin/keys lists those",
        {"resource": key_id, "type": "key"},
    )


def _secret_of(text: str) -> Secret:
    return Secret(digest_of(text), text[:HINT_LENGTH])
