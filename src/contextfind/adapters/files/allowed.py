"""Which files of the server's own machine may be ingested."""

from collections.abc import Sequence
from pathlib import Path

from contextfind.adapters.files.directory import DirectorySource, SingleFileSource
from contextfind.domain.errors import NotFoundError, PermissionDeniedError
from contextfind.ports.sources import FileSource


class AllowedPaths:
    """`ServerPaths` below some roots; without roots nothing is allowed.

    Links are resolved before the path is judged. `source` looks at a few names on the disk and
    reads nothing.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(root.resolve() for root in roots)

    def source(self, path: str) -> FileSource:
        """See `ServerPaths.source`."""
        refused = PermissionDeniedError(
            f"the server may not read {path!r}; upload the file (a directory as a zip) with POST "
            "/api/v1/resources/temp_upload and pass the temp_file_id it returns",
            {"path": path},
        )
        try:
            real = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown ~user, a NUL
            raise refused from None
        if not any(real.is_relative_to(root) for root in self._roots):
            raise refused
        if real.is_dir():
            return DirectorySource(real)
        if real.is_file():
            return SingleFileSource(real)
        raise NotFoundError(f"there is no file or directory {path!r}", {"path": path})
