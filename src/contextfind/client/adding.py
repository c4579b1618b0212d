"""Local files on their way into the tree: packed, uploaded, and followed until they can be found."""

import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from contextfind.client.answers import Added, Task
from contextfind.client.envelope import API, result, result_of
from contextfind.client.exchange import Answer, Request, Told, Upload
from contextfind.client.failure import InvalidArgumentError
from contextfind.client.flow import Flow, Work, ask
from contextfind.client.packing import Choice, Packed, pack
from contextfind.client.standing import followed, status
from contextfind.domain.errors import ContextFindError

Progress = Callable[[str, int, int], None]  # packing|uploading|indexing|embedding, done, total


class AddOptions(TypedDict, total=False):
    """Where files go, what they are called and which are taken; what is left out is not sent."""

    to: str
    parent: str
    source_name: str
    tags: Sequence[str]
    include: Sequence[str]
    exclude: Sequence[str]
    ignore_dirs: Sequence[str]


def upload(path: str | Path, name: str | None = None, told: Told | None = None) -> Flow[str]:
    """Send a file and return its `temp_file_id`; it is streamed, not read into memory.

    told: called with the bytes sent so far and the bytes in all.

    Raises:
        OSError: the file cannot be opened.

    """
    file = Path(path)
    sent = Upload(file, name or file.name, told)
    return ask(Request("POST", f"{API}/resources/temp_upload", _upload_id, upload=sent))


def add_upload(temp_file_id: str, **options: Unpack[AddOptions]) -> Flow[Added]:
    """Begin to add an upload to the tree; `task` of the answer's `task_id` tells how far it is."""
    body = {"temp_file_id": temp_file_id, **options}
    return ask(Request("POST", f"{API}/resources", result(Added), body=body))


def add_resource(
    path: str | Path,
    *,
    wait: bool = False,
    timeout: float | None = None,
    progress: Progress | None = None,
    **options: Unpack[AddOptions],
) -> Flow[Added]:
    """Add a local file, directory or zip to the tree; adding it again brings what changed.

    Of a directory .gitignore is honoured, names that begin with a dot are left out unless `include`
    names them. With `wait` all of it can be found then; None as `timeout` waits as long as the work
    goes on. progress: called with a stage (packing, uploading, indexing: files, KiB, files; embedding:
    texts), how much is done, and of how much (0: nobody knows yet); packing is told from a thread.

    Raises:
        InvalidArgumentError: there is nothing at `path`, or nothing of it is taken.
        OSError: it cannot be read.
        TaskFailedError, DeadlineExceededError: it was waited for, and failed or goes on.

    """
    source = yield from _source(path)
    said: AddOptions = {"source_name": source.name, **options}
    choice = Choice(*(_texts(options.get(rule)) for rule in ("include", "exclude", "ignore_dirs")))
    errand = _Errand(source, progress or _silent)
    upload_id, packed = yield from errand.sent(choice)
    added = yield from add_upload(upload_id, **said)
    ended = (yield from errand.followed(added.task_id, timeout)) if wait else None
    return replace(added, task=ended, unread=packed.unread)


def sent(path: str | Path) -> Flow[str]:
    """Send a local file, or a directory as a zip, and return its temp_file_id; see `add_resource`."""
    source = yield from _source(path)
    upload_id, _ = yield from _Errand(source, _silent).sent(Choice())
    return upload_id


@dataclass(frozen=True, slots=True)
class _Errand:
    """One add, step by step, each told."""

    source: Path
    progress: Progress

    def sent(self, choice: Choice) -> Flow[tuple[str, Packed]]:
        """Send it, and return its temp_file_id and what is in it."""
        with tempfile.TemporaryDirectory(prefix="contextfind-") as room:
            file, packed = yield from self.packed(Path(room), choice)
            return (yield from self.uploaded(file)), packed

    def packed(self, room: Path, choice: Choice) -> Flow[tuple[Path, Packed]]:
        """Return what is to be sent: the file itself, or a directory as a zip in `room`."""
        if not self.source.is_dir():
            return self.source, Packed(files=1)
        archive, stop = room / "upload.zip", threading.Event()
        told = partial(self.progress, "packing")
        try:
            packed = yield Work(partial(_pack, self.source, archive, choice, told, stop.is_set))
        finally:
            stop.set()  # who is interrupted does not wait for the rest of the files
        if not packed.files:
            raise _wrong(
                f"no file of {self.source} is left to add; look at include, exclude and .gitignore"
            )
        return archive, packed

    def uploaded(self, file: Path) -> Flow[str]:
        """Send the file and return its temp_file_id."""
        name = self.source.name if file == self.source else f"{self.source.name}.zip"

        def told(done: int, total: int) -> None:
            self.progress("uploading", done // 1024, max(total // 1024, 1))

        return (yield from upload(file, name, told))

    def followed(self, task_id: str, timeout: float | None) -> Flow[Task]:
        """Return the task when it has completed."""
        most = 0

        def look(task: Task) -> Flow[None]:
            nonlocal most
            if task.stage == "embedding":
                left = yield from _texts_left()
                most = max(most, left)  # that were ever left: as good as how many there are
                self.progress("embedding", most - left, most)
            else:
                self.progress("indexing", task.done, task.total)

        return (yield from followed(task_id, timeout, look))


def _pack(
    source: Path, archive: Path, choice: Choice, told: Told, stopped: Callable[[], bool]
) -> Packed:
    try:
        return pack(source, archive, choice, told, stopped)
    except ContextFindError as error:  # a pattern that is none
        raise _wrong(str(error)) from error


def _texts_left() -> Flow[int]:
    """Return how many texts wait for a vector; 0 when the server does not tell this key."""
    stands = yield from status()
    left: Any = stands.backlog.get("texts", 0)
    return int(left)


def _source(path: str | Path) -> Flow[Path]:
    source = Path(os.path.abspath(path))  # noqa: PTH100 - keeps the name of a link
    usable: bool = yield Work(lambda: source.is_file() or source.is_dir())
    if not usable:
        raise _wrong(
            f"path is {str(path)!r}; expected a local file, directory or zip that is there"
        )
    if not source.name:
        raise _wrong(f"path is {str(path)!r}, which has no name; expected one that has")
    return source


def _texts(value: Sequence[str] | object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, Sequence) else ()


def _upload_id(answer: Answer) -> str:
    return str(result_of(answer)["temp_file_id"])


def _silent(stage: str, done: int, total: int) -> None:
    """Tell nobody."""


def _wrong(message: str) -> InvalidArgumentError:
    return InvalidArgumentError("INVALID_ARGUMENT", message)
