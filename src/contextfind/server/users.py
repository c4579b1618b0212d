"""Users: finding one by name, and letting one go."""

from contextfind.domain.errors import NotFoundError
from contextfind.domain.identity import Identity
from contextfind.server.house import House


async def user_named(house: House, account: str, user: str) -> Identity:
    """Return the identity of a user with the role it has.

    Raises:
        NotFoundError: no such account, or no such user in it.

    """
    for one in await house.identities.users(account):
        if one.id == user:
            return Identity(account, user, one.role)
    raise NotFoundError(f"account {account!r} has no user {user!r}", {"resource": user})


async def dismiss(house: House, who: Identity) -> int:
    """Remove a user with its keys, stop its tasks, and return how many keys that were.

    Its tree stays, and so does its name: they are given back together or not at all.

    Raises:
        NotFoundError: no such account, or no such user in it.

    """
    revoked = await house.identities.remove_user(who.account, who.user, house.clock())
    for job in await house.jobs.running(who):
        await house.jobs.cancel(job.identity, job.id)
    return revoked
