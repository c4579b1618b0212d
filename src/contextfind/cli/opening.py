"""The house opened by a command: what goes wrong is one line and an exit code."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.config.model import Settings
from contextfind.domain.errors import ConfigError, ContextFindError, FailedPreconditionError
from contextfind.wiring import House


@asynccontextmanager
async def opened(
    settings: Settings, *, served: Sequence[Path] = (), reembed: bool = False
) -> AsyncIterator[House]:
    """Give an open house, as `House.open` does.

    Raises:
        Complaint: the data cannot be opened.

    """
    async with AsyncExitStack() as stack:
        try:
            house = await stack.enter_async_context(
                House.open(settings, served=served, reembed=reembed)
            )
        except ConfigError as error:
            raise Complaint(f"configuration: {error}", ExitCode.USAGE, error.code) from error
        except FailedPreconditionError as error:
            raise Complaint(str(error), ExitCode.OCCUPIED, error.code) from error
        except ContextFindError as error:
            raise Complaint(
                f"cannot start: {error}; look closer with: contextfind doctor",
                ExitCode.FAILED,
                error.code,
            ) from error
        yield house
