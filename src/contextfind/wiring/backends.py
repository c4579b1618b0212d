"""Which backend keeps everything, and which index finds it again."""

from contextlib import AsyncExitStack
from pathlib import Path

from contextfind.config.model import Settings
from contextfind.wiring.extras import fetched
from contextfind.wiring.indexing import INDEX, HouseIndex, IndexRecipe, fit, open_index
from contextfind.wiring.sqlite_storage import open_sqlite
from contextfind.wiring.storage import Storage
from contextfind.wiring.surroundings import Surroundings

_POSTGRES = ("postgres_storage", "postgres", "storage.backend 'postgres'")
_QDRANT = ("qdrant_index", "qdrant", "index.backend 'qdrant'")


async def open_storage(
    settings: Settings, around: Surroundings, stack: AsyncExitStack, *, making: bool = True
) -> Storage:
    """Open the storage that the settings name; `stack` closes everything in reverse order.

    making: also where there is none yet. A data directory is made in any case, when it was not looked for before.

    Raises:
        ConfigError: there are no tables in the database, and none are to be made.
        FailedPreconditionError: it is in use, newer, or not whole; or a package for it is missing.
        UnavailableError: it does not answer.

    """
    if settings.storage.backend == "postgres":
        module = fetched(*_POSTGRES)
        opened: Storage = await module.open_postgres(settings, around, stack, making=making)
        return opened
    return await open_sqlite(settings, around, stack)


async def open_index_of(
    settings: Settings, storage: Storage, recipe: IndexRecipe, stack: AsyncExitStack
) -> HouseIndex:
    """Open the search index that the settings name, of what is in the storage; `stack` closes it.

    It is built anew first when an older state of it, or of the storage, was put back.

    Raises:
        FailedPreconditionError: a package for it is missing, or the engine is too old.
        UnavailableError: it does not answer.

    """
    index: HouseIndex
    match settings.index_backend:
        case "embedded":
            directory = Path(settings.storage.path) / INDEX
            index = await open_index(directory, await storage.upkeep.reach(), recipe)
        case "postgres":
            index = await fetched(*_POSTGRES).open_postgres_index(storage, recipe)
        case "qdrant":
            index = await fetched(*_QDRANT).open_qdrant_index(settings.qdrant, recipe)
    stack.push_async_callback(index.aclose)
    if settings.index_backend != "embedded":
        await fit(index, storage)
    return index


def shown_place(settings: Settings) -> str:
    """Return where everything is kept, for people: without user and password."""
    if settings.storage.backend == "postgres":
        return str(fetched(*_POSTGRES).place_of(settings).shown())
    return str(Path(settings.storage.path).absolute())
