"""Which embedder makes the vectors, and whether a process that was started for one still may."""

from psycopg import AsyncConnection

from contextfind.domain.errors import UnavailableError

FINGERPRINT = "embedder_fingerprint"  # in `meta`


async def read_maker(connection: AsyncConnection) -> str | None:
    """Return the fingerprint of the embedder, None when nobody has said yet."""
    cursor = await connection.execute("SELECT value FROM meta WHERE key = %s", (FINGERPRINT,))
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


async def note_maker(connection: AsyncConnection, fingerprint: str) -> None:
    """Have vectors be made by this embedder from now on."""
    await connection.execute(
        "INSERT INTO meta (key, value) VALUES (%s, %s)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (FINGERPRINT, fingerprint),
    )


async def check_maker(connection: AsyncConnection, known: str | None) -> None:
    """Refuse vectors of and to a process that was started for another embedder; `known`: what it last heard.

    Raises:
        UnavailableError: another process has everything embedded by another one since then.

    """
    if known is None:
        return
    now = await read_maker(connection)
    if now != known:
        raise UnavailableError(
            f"another server has everything embedded by {now!r} since this one was started, which embeds by "
            f"{known!r}: start it again with the embedder of the other",
            {"retryable": False},
        )
