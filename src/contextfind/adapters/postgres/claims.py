"""Which work belongs to which process: each takes a share, those who live keep theirs.

What is claimed here may be done twice all the same (a process whose connection broke counts as dead): a vector is the
same whoever brings it, and a summary goes by its mark.
"""

from collections.abc import Sequence

from psycopg import AsyncConnection

from contextfind.adapters.postgres.presence import Presence


async def others_at_work(connection: AsyncConnection, presence: Presence, number: int) -> list[int]:
    """Return the other processes that live; nobody else claims anything until this transaction ends.

    number: of the lock that whoever claims holds.
    """
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (number,))
    return sorted(await presence.living(connection) - {presence.worker})


async def claim(connection: AsyncConnection, worker: int, what: Sequence[str]) -> None:
    """Let work belong to a process; it was found to be nobody's who lives since `others_at_work`."""
    await connection.execute(
        "INSERT INTO claims (what, worker) SELECT unnest(%s::text[]), %s"
        " ON CONFLICT (what) DO UPDATE SET worker = excluded.worker"
        " WHERE claims.worker <> excluded.worker",
        (list(dict.fromkeys(what)), worker),
    )


async def disclaim(connection: AsyncConnection, what: Sequence[str]) -> None:
    """Forget who was to do what is done, or need not be done any more."""
    # What somebody claims at this very moment stays his: who waited for it while he waits for something else that
    # goes here would wait for ever. It does no harm, for he is given it again should it have to be done again.
    await connection.execute(
        "DELETE FROM claims WHERE what IN"
        " (SELECT what FROM claims WHERE what = ANY(%s) FOR UPDATE SKIP LOCKED)",
        (list(what),),
    )


async def disclaim_all(connection: AsyncConnection) -> None:
    """Forget who was to do anything; what somebody claims at this very moment stays his, as above."""
    await connection.execute(
        "DELETE FROM claims WHERE what IN (SELECT what FROM claims FOR UPDATE SKIP LOCKED)"
    )


async def disclaim_directories(
    connection: AsyncConnection, account: str, uris: Sequence[str]
) -> None:
    """Forget who was to summarise directories that are none, or are summarised."""
    if uris:
        await disclaim(connection, [directory_claim(account, uri) for uri in uris])


def directory_claim(account: str, uri: str) -> str:
    """Return how a directory is claimed; a text is by its digest."""
    return f"{account} {uri}"
