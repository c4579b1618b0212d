"""Which backend keeps everything."""

from contextlib import AsyncExitStack

from contextfind.config.model import Settings
from contextfind.wiring.sqlite_storage import open_sqlite
from contextfind.wiring.storage import Storage
from contextfind.wiring.surroundings import Surroundings


async def open_storage(settings: Settings, around: Surroundings, stack: AsyncExitStack) -> Storage:
    """Open the storage that the settings name; `stack` closes everything in reverse order.

    Raises:
        FailedPreconditionError: it is in use, newer, or not whole.
        UnavailableError: it does not answer.

    """
    return await open_sqlite(settings, around, stack)
