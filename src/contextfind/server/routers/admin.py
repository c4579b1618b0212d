"""admin/*: accounts, users and keys. Who may do what stands in docs/security.md."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from contextfind.domain.errors import NotFoundError
from contextfind.domain.identity import Identity
from contextfind.server.envelope import ok
from contextfind.server.examples import ACCOUNT, KEY, ROLE, USER
from contextfind.server.keys import issue, key_named, keys_in_reach, rotate
from contextfind.server.office import TheOffice
from contextfind.server.openapi import examples, may_fail, room
from contextfind.server.users import dismiss, user_named
from contextfind.server.wire import admin as wire
from contextfind.server.wire.answers import (
    AccountLine,
    ChangedRole,
    GoneKey,
    GoneUser,
    KeyLine,
    NewAccount,
    NewKey,
    NewUser,
    Ok,
    UserLine,
)

router = room("admin")

OfAccount = Annotated[str | None, Query(description="Keys of this account only.")]


@router.post(
    "/accounts",
    response_model=Ok[NewAccount],
    responses=may_fail("ALREADY_EXISTS"),
    openapi_extra=examples(ACCOUNT),
)
async def add_account(body: wire.AccountBody, office: TheOffice) -> Response:
    """Make an account with its first user (role admin) and that user's key."""
    account, user = body.account_id, body.admin_user_id
    office.on.update(account=account, user=user)
    office.check_rules(None)
    await office.house.identities.add_account(account, user, office.house.clock())
    secret, key = await issue(office.house, office.premises.mint, Identity(account, user, "admin"))
    office.on["key"] = key.id
    result = {"account_id": account, "admin_user_id": user, "user_key": secret}
    return ok(result, headers=body.ignored_header())


@router.get("/accounts", response_model=Ok[list[AccountLine]], responses=may_fail())
async def list_accounts(asked: Annotated[wire.Listing, Query()], office: TheOffice) -> Response:
    """Return accounts by id."""
    office.check_rules(None)
    found = {one.id: one for one in await office.house.identities.accounts()}
    return ok([wire.account(found[one]) for one in asked.chosen(found)])


@router.post(
    "/accounts/{account}/users",
    response_model=Ok[NewUser],
    responses=may_fail("NOT_FOUND", "ALREADY_EXISTS"),
    openapi_extra=examples(USER),
)
async def add_user(account: str, body: wire.UserBody, office: TheOffice) -> Response:
    """Make a user and its first key."""
    house, who = office.house, Identity(account, body.user_id, body.role)
    office.on.update(user=who.user, role=who.role)
    office.check_rules(account)
    await house.identities.add_user(
        account, who.user, who.role, house.clock(), restore=body.restore
    )
    secret, key = await issue(house, office.premises.mint, who)
    office.on["key"] = key.id
    result = {"account_id": account, "user_id": who.user, "user_key": secret}
    return ok(result, headers=body.ignored_header())


@router.get(
    "/accounts/{account}/users", response_model=Ok[list[UserLine]], responses=may_fail("NOT_FOUND")
)
async def list_users(
    account: str, asked: Annotated[wire.UserListing, Query()], office: TheOffice
) -> Response:
    """Return the users of an account by id."""
    office.check_rules(account)
    users = await office.house.identities.users(account)
    found = {one.id: one for one in users if asked.role in (None, one.role)}
    return ok([wire.user(found[one]) for one in asked.chosen(found)])


@router.get(
    "/accounts/{account}/users/{user}",
    response_model=Ok[UserLine],
    responses=may_fail("NOT_FOUND"),
)
async def one_user(account: str, user: str, office: TheOffice) -> Response:
    """Return one user of an account."""
    office.check_rules(account)
    for one in await office.house.identities.users(account):
        if one.id == user:
            return ok(wire.user(one))
    raise NotFoundError(f"account {account!r} has no user {user!r}", {"resource": user})


@router.delete(
    "/accounts/{account}/users/{user}",
    response_model=Ok[GoneUser],
    responses=may_fail("NOT_FOUND"),
)
async def remove_user(account: str, user: str, office: TheOffice) -> Response:
    """Remove a user: its keys are dead at once, its tasks stop, its tree stays and waits for it."""
    office.check_rules(account)
    revoked = await dismiss(office.house, Identity(account, user))
    return ok({"account_id": account, "user_id": user, "removed": True, "revoked_keys": revoked})


@router.put(
    "/accounts/{account}/users/{user}/role",
    response_model=Ok[ChangedRole],
    responses=may_fail("NOT_FOUND"),
    openapi_extra=examples(ROLE),
)
async def change_role(account: str, user: str, body: wire.RoleBody, office: TheOffice) -> Response:
    """Give a user another role; it holds for all its keys from the next request on."""
    office.on["role"] = body.role
    office.check_rules(account)
    await office.house.identities.set_role(account, user, body.role)
    result = {"account_id": account, "user_id": user, "role": body.role}
    return ok(result, headers=body.ignored_header())


@router.post(
    "/accounts/{account}/users/{user}/key",
    response_model=Ok[NewKey],
    responses=may_fail("NOT_FOUND"),
)
async def renew_key(account: str, user: str, office: TheOffice) -> Response:
    """Make a key for a user and end all its former ones."""
    office.check_rules(account)
    who = await user_named(office.house, account, user)
    secret, key = await issue(office.house, office.premises.mint, who, alone=True)
    office.on["key"] = key.id
    return ok({**wire.key(key), "user_key": secret})


@router.post(
    "/keys", response_model=Ok[NewKey], responses=may_fail("NOT_FOUND"), openapi_extra=examples(KEY)
)
async def add_key(body: wire.KeyBody, office: TheOffice) -> Response:
    """Make one more key for a user; its secret is in this answer and never again."""
    office.on.update(account=body.account_id, user=body.user_id)
    office.check_rules(body.account_id)
    who = await user_named(office.house, body.account_id, body.user_id)
    secret, key = await issue(office.house, office.premises.mint, who, body.label)
    office.on["key"] = key.id
    return ok({**wire.key(key), "user_key": secret}, headers=body.ignored_header())


@router.get("/keys", response_model=Ok[list[KeyLine]], responses=may_fail())
async def list_keys(office: TheOffice, account_id: OfAccount = None) -> Response:
    """Return the keys in force without their secrets: all, the account's, or the caller's own."""
    keeper = office.premises.keeper
    if account_id:
        office.on["account"] = account_id
    found = await keys_in_reach(office.house, keeper, office.caller, account_id or None)
    return ok([wire.key(one) for one in found])


@router.post(
    "/keys/{key_id}/rotate",
    response_model=Ok[NewKey],
    responses=may_fail("NOT_FOUND", "CONFLICT"),
)
async def rotate_key(key_id: str, office: TheOffice) -> Response:
    """Give a key another secret, under the same id and label; the old one is dead at once."""
    house, premises = office.house, office.premises
    key = key_named(await keys_in_reach(house, premises.keeper, office.caller), key_id)
    office.on.update(account=key.identity.account, user=key.identity.user, key=key.id)
    secret, rotated = await rotate(house, premises.mint, key)
    return ok({**wire.key(rotated), "user_key": secret})


@router.delete("/keys/{key_id}", response_model=Ok[GoneKey], responses=may_fail("NOT_FOUND"))
async def revoke_key(key_id: str, office: TheOffice) -> Response:
    """Take a key back; it stops working at once."""
    house, keeper = office.house, office.premises.keeper
    key = key_named(await keys_in_reach(house, keeper, office.caller), key_id)
    office.on.update(account=key.identity.account, user=key.identity.user, key=key.id)
    await house.identities.revoke(key.id)
    return ok({"key_id": key.id, "revoked": True})
