"""What a disk refuses, as an error of ours."""

import errno

from contextfind.domain.errors import DiskFullError, UnavailableError

_FULL = (errno.ENOSPC, errno.EDQUOT)


def refusal(what: str, error: OSError) -> UnavailableError:
    """Return the error to be raised; what: the beginning of its message, as in `uploads cannot be kept`."""
    if error.errno in _FULL:
        return DiskFullError()
    return UnavailableError(f"{what}: {error.strerror or error}")
