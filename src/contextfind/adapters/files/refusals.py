"""What a disk refuses, as an error of ours."""

import errno
from collections.abc import Mapping

from contextfind.domain.errors import DiskRefusesError, UnavailableError

_STATES: Mapping[int | None, str] = {
    errno.ENOSPC: "is full",
    errno.EDQUOT: "is full",
    errno.EROFS: "is read-only",
}


def refusal(what: str, error: OSError) -> UnavailableError:
    """Return the error to be raised; what: the beginning of its message, as in `uploads cannot be kept`."""
    state = _STATES.get(error.errno)
    if state is not None:
        return DiskRefusesError(state)
    return UnavailableError(f"{what}: {error.strerror or error}")
