"""The house, or its data alone, opened by a command: what goes wrong is one line and an exit code."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.config.model import Settings
from contextfind.domain.errors import (
    ConfigError,
    ContextFindError,
    DamagedError,
    FailedPreconditionError,
    StoreBusyError,
)
from contextfind.wiring import House, Vault
from contextfind.wiring.housekeeping import open_rooms
from contextfind.wiring.storage import Storage

T = TypeVar("T")


@asynccontextmanager
async def opened(
    settings: Settings,
    *,
    served: Sequence[Path] = (),
    reembed: bool = False,
    patient: bool = False,
) -> AsyncIterator[House]:
    """Give an open house, as `House.open` does.

    patient: the caller tries again when the database is busy.

    Raises:
        Complaint: the data cannot be opened.
        StoreBusyError: nor for a moment; only for a patient caller.

    """
    opening = House.open(settings, served=served, reembed=reembed)
    async with AsyncExitStack() as stack:
        yield await _entered(stack, opening, StoreBusyError if patient else ())


@asynccontextmanager
async def opened_vault(settings: Settings, *, filling: bool = False) -> AsyncIterator[Vault]:
    """Give the data alone, as `Vault.open` does.

    Raises:
        Complaint: the data cannot be opened.

    """
    async with AsyncExitStack() as stack:
        yield await _entered(stack, Vault.open(settings, filling=filling))


@asynccontextmanager
async def opened_rooms(settings: Settings) -> AsyncIterator[Storage]:
    """Give what can be tidied, as `open_rooms` does.

    Raises:
        Complaint: the data cannot be opened.

    """
    async with AsyncExitStack() as stack:
        yield await _entered(stack, open_rooms(settings))


async def _entered(
    stack: AsyncExitStack,
    opening: AbstractAsyncContextManager[T],
    untold: type[Exception] | tuple[()] = (),
) -> T:
    try:
        return await stack.enter_async_context(opening)
    except untold:
        raise
    except ConfigError as error:
        raise Complaint(f"configuration: {error}", ExitCode.USAGE, error.code) from error
    except FailedPreconditionError as error:
        raise Complaint(str(error), ExitCode.OCCUPIED, error.code) from error
    except DamagedError as error:  # its message says what to do
        raise Complaint(f"cannot start: {error}", ExitCode.FAILED, error.code) from error
    except ContextFindError as error:
        raise Complaint(
            f"cannot start: {error}; look closer with: contextfind doctor",
            ExitCode.FAILED,
            error.code,
        ) from error
