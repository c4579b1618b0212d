"""Engines whose packages not everybody installs: fetched when the settings name them."""

import importlib
from types import ModuleType

from contextfind.domain.errors import FailedPreconditionError


def fetched(module: str, extra: str, wanted_by: str) -> ModuleType:
    """Return a module of this room that needs an extra.

    Raises:
        FailedPreconditionError: a package of the extra is not installed; the message says how it is.

    """
    try:
        return importlib.import_module(f"contextfind.wiring.{module}")
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] == "contextfind":
            raise  # a mistake of ours
        raise FailedPreconditionError(
            f"{wanted_by} needs the package {error.name!r}; install it with: "
            f"pip install 'contextfind[{extra}]'"
        ) from error
