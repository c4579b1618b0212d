"""admin/*: accounts, users and keys."""

from fastapi import APIRouter
from starlette.responses import Response

from contextfind.domain.identity import Identity
from contextfind.server.auth import check_administers
from contextfind.server.envelope import ok
from contextfind.server.keys import issue, key_named, user_named
from contextfind.server.premises import Caller, TheHouse, ThePremises
from contextfind.server.wire import admin as wire

router = APIRouter(prefix="/admin", tags=["admin"])


@router.post("/accounts")
async def add_account(
    body: wire.AccountBody, premises: ThePremises, house: TheHouse, caller: Caller
) -> Response:
    """Make an account with its first user (role admin) and that user's key."""
    check_administers(premises.keeper, caller, None)
    account, user = body.account_id, body.admin_user_id
    await house.identities.add_account(account, user, house.clock())
    secret, _ = await issue(house, premises.mint, Identity(account, user, "admin"))
    result = {"account_id": account, "admin_user_id": user, "user_key": secret}
    return ok(result, headers=body.ignored_header())


@router.get("/accounts")
async def accounts(premises: ThePremises, house: TheHouse, caller: Caller) -> Response:
    """Return all accounts by id."""
    check_administers(premises.keeper, caller, None)
    return ok([wire.account(one) for one in await house.identities.accounts()])


@router.post("/accounts/{account}/users")
async def add_user(
    account: str, body: wire.UserBody, premises: ThePremises, house: TheHouse, caller: Caller
) -> Response:
    """Make a user and its first key."""
    check_administers(premises.keeper, caller, account)
    await house.identities.add_user(account, body.user_id, body.role, house.clock())
    secret, _ = await issue(house, premises.mint, Identity(account, body.user_id, body.role))
    result = {"account_id": account, "user_id": body.user_id, "user_key": secret}
    return ok(result, headers=body.ignored_header())


@router.get("/accounts/{account}/users")
async def users(account: str, premises: ThePremises, house: TheHouse, caller: Caller) -> Response:
    """Return the users of an account by id."""
    check_administers(premises.keeper, caller, account)
    return ok([wire.user(one) for one in await house.identities.users(account)])


@router.post("/keys")
async def add_key(
    body: wire.KeyBody, premises: ThePremises, house: TheHouse, caller: Caller
) -> Response:
    """Make a key for a user; its secret is in this answer and never again."""
    check_administers(premises.keeper, caller, body.account_id)
    identity = await user_named(house, body.account_id, body.user_id)
    secret, key = await issue(house, premises.mint, identity, body.label)
    return ok({**wire.key(key), "user_key": secret}, headers=body.ignored_header())


@router.get("/keys")
async def keys(
    premises: ThePremises, house: TheHouse, caller: Caller, account_id: str | None = None
) -> Response:
    """Return the keys in force without their secrets; an admin sees those of its account."""
    account = account_id or (caller.account if caller.role == "admin" else None)
    check_administers(premises.keeper, caller, account)
    return ok([wire.key(one) for one in await house.identities.keys(account)])


@router.delete("/keys/{key_id}")
async def revoke_key(
    key_id: str, premises: ThePremises, house: TheHouse, caller: Caller
) -> Response:
    """Take a key back; it stops working at once."""
    account = caller.account if caller.role == "admin" else None
    check_administers(premises.keeper, caller, account)
    key = key_named(await house.identities.keys(account), key_id)
    await house.identities.revoke(key.id)
    return ok({"key_id": key.id, "revoked": True})
