"""A local directory as one zip, with the same choice of files that the server would make."""

import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from contextfind.ingestion.selection import Selection

GITIGNORE = ".gitignore"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which files are taken; see `Selection`."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_dirs: tuple[str, ...] = ()

    def selection(self, gitignores: dict[str, str] | None = None) -> Selection:
        """Return the rules, with the texts of .gitignore files by their directory."""
        return Selection(self.include, self.exclude, self.ignore_dirs, gitignores or {})


@dataclass(slots=True)
class Packed:
    """What is in the zip (`files`), and what could not be read, by path, with the reason."""

    files: int = 0
    unread: dict[str, str] = field(default_factory=dict)


def pack(
    directory: Path,
    into: Path,
    choice: Choice,
    progress: Callable[[int, int], None],
    stopped: Callable[[], bool],
) -> Packed:
    """Write the chosen files of `directory` into a zip; one file at a time is in memory, in part.

    Links, devices and directories that are version control's or a build's are left out. An empty
    directory makes an empty zip. `stopped` is asked before each file.

    Raises:
        OSError: the zip cannot be written.

    """
    packed = Packed()
    chosen = _chosen(directory, choice, packed)
    with zipfile.ZipFile(
        into, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False
    ) as archive:
        for done, path in enumerate(chosen):
            if stopped():
                return packed
            progress(done, len(chosen))
            try:
                archive.write(directory / path, path)
                packed.files += 1
            except (FileNotFoundError, PermissionError) as error:  # the file; the zip is open
                packed.unread[path] = error.strerror or str(error)
    progress(len(chosen), len(chosen))
    return packed


def _chosen(directory: Path, choice: Choice, packed: Packed) -> list[str]:
    paths = sorted(_walk(directory, choice.selection(), packed))
    rules = [path for path in paths if path.rpartition("/")[2] == GITIGNORE]
    gitignores = {
        path.rpartition("/")[0]: (directory / path).read_text("utf-8", "replace")
        for path in rules
        if os.access(directory / path, os.R_OK)
    }
    selection = choice.selection(gitignores)
    return [path for path in paths if selection.keeps(path)]


def _walk(directory: Path, first: Selection, packed: Packed) -> Iterator[str]:
    def unreadable(error: OSError) -> None:
        where = Path(str(error.filename)).relative_to(directory).as_posix()
        packed.unread[where] = error.strerror or str(error)

    for here, folders, names in os.walk(directory, onerror=unreadable):
        below = Path(here).relative_to(directory)
        folders[:] = [name for name in folders if not first.prune((below / name).as_posix())]
        for name in names:
            path = (below / name).as_posix()
            if _is_text(path) and stat.S_ISREG(os.lstat(directory / path).st_mode):
                yield path


def _is_text(path: str) -> bool:
    """Whether the name is Unicode; others have no address (`os.walk` shows them as surrogates)."""
    return not any("\ud800" <= character <= "\udfff" for character in path)
