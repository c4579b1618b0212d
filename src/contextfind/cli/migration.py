"""Bringing what another server of this API holds: its files by address, as far as they are not here."""

import base64
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contextfind.client import (
    AsyncClient,
    ClientError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
    UnavailableError,
)
from contextfind.client.answers import Entry
from contextfind.domain.uri import Uri

HOME = "viking://~"
ROOTS = (
    "viking://resources",
    f"{HOME}/memories",
    f"{HOME}/resources",
    f"{HOME}/skills",
    "viking://agent/skills",
)
PAGE = 1_000  # entries of a listing; what servers of this API give by default
BATCH_FILES = 128
BATCH_BYTES = 8 * 1024 * 1024  # half of what a batch may hold: in base64 it is a third more

_DERIVED = frozenset({".abstract.md", ".overview.md"})  # every server writes its own
_NOT_FOR_WANT_OF_BYTES = (UnavailableError, UnauthenticatedError)

Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Find:
    """A file of the other server: its address there and here, its size, its tags."""

    there: str
    here: str
    size: int
    tags: tuple[str, ...]


@dataclass(slots=True)
class Brought:
    """What became of the files: counts, and reasons by the address there.

    failed: what could not be brought. untagged: what was written, and is here without its tags.
    """

    written: int = 0
    unchanged: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    untagged: dict[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether all that lies there is here."""
        return not (self.failed or self.untagged)


@dataclass(frozen=True, slots=True)
class Migration:
    """Copies trees from one server to another.

    source, target: whose key decides what is read, and where `viking://~` is.
    every: also files that are here with the same size.
    """

    source: AsyncClient
    target: AsyncClient
    every: bool = False

    async def bring(self, roots: Sequence[str], told: Told) -> Brought:
        """Bring all files below the addresses; what is not there brings nothing.

        told: is given how many files are done, and of how many, again and again.

        Raises:
            ClientError: one of the servers cannot be asked any more. What was brought stays, and the
                next time only the rest is.

        """
        home = await self._home()
        found = [one for root in roots async for one in files_below(self.source, root, home)]
        brought = Brought()
        kept = [one for root in roots async for one in files_below(self.target, root, HOME)]
        here = {one.here: one.size for one in kept}
        new = [one for one in found if self.every or here.get(one.here) != one.size]
        brought.unchanged = len(found) - len(new)
        told(brought.unchanged, len(found))
        for batch in batches(new):
            await self._copy(batch, brought)
            told(brought.unchanged + brought.written + len(brought.failed), len(found))
        return brought

    async def _home(self) -> str:
        """Return what the other server calls `viking://~`; older ones know that name not."""
        user = (await self.source.status()).user
        return f"viking://user/{user}" if user else HOME

    async def _copy(self, batch: Sequence[Find], brought: Brought) -> None:
        contents: dict[Find, bytes] = {}
        for one in batch:
            try:
                contents[one] = await self._content(one.there)
            except ClientError as error:
                brought.failed[one.there] = _passed_over(error)
        if contents:
            await self._write(contents, brought)

    async def _content(self, uri: str) -> bytes:
        """Return the bytes of a file; its text from a server that gives no bytes."""
        try:
            return await self.source.download(uri)
        except _NOT_FOR_WANT_OF_BYTES:
            raise
        except ClientError:
            return (await self.source.read(uri)).encode()

    async def _write(self, contents: Mapping[Find, bytes], brought: Brought) -> None:
        """Write files in one commit; one by one where the whole is refused."""
        operations = [
            {"uri": one.here, "content_base64": base64.b64encode(content).decode()}
            for one, content in contents.items()
        ]
        try:
            await self.target.batch_write(common_root(contents), operations, wait=False)
        except ClientError as error:
            reason = _passed_over(error)
            if len(contents) == 1:
                brought.failed |= {one.there: reason for one in contents}
                return
            for one, content in contents.items():
                await self._write({one: content}, brought)
        else:
            brought.written += len(contents)
            await self._tag(contents, brought)

    async def _tag(self, files: Iterable[Find], brought: Brought) -> None:
        for one in files:
            if one.tags:
                try:
                    await self.target.set_tags(one.here, one.tags)
                except ClientError as error:
                    brought.untagged[one.there] = _passed_over(error)


def _passed_over(error: ClientError) -> str:
    """Return why one file is passed over; raise the error where no other file will fare better.

    What is unavailable and says that trying again does not help is that file alone: it is damaged.
    """
    ends = isinstance(error, UnauthenticatedError) or (
        isinstance(error, UnavailableError) and error.details.get("retryable") is not False
    )
    if ends:
        raise error
    return str(error)


async def files_below(server: AsyncClient, root: str, home: str) -> AsyncIterator[Find]:
    """Give the files below an address, directory by directory; `home` is what `~` is called there."""
    start = home + root.removeprefix(HOME) if root.startswith(HOME) else root
    waiting = [(start, root)]
    while waiting:
        there, here = waiting.pop()
        for entry in await _children(server, there):
            name = entry.uri.rstrip("/").rpartition("/")[2]
            if entry.is_dir:
                waiting.append((entry.uri.rstrip("/"), f"{here}/{name}"))
            elif name not in _DERIVED:
                yield Find(entry.uri, f"{here}/{name}", entry.size, entry.tags)


async def _children(server: AsyncClient, uri: str) -> list[Entry]:
    """Return what a directory holds, page after page; nothing where there is none."""
    children: dict[str, Entry] = {}
    while True:
        try:
            page = await server.ls(uri, PAGE, len(children))
        except (NotFoundError, PermissionDeniedError):
            return [*children.values()]
        new = {one.uri: one for one in page.entries if one.uri not in children}
        children |= new
        if not new or not (page.has_more or len(page.entries) >= PAGE):
            return [*children.values()]


def batches(files: Sequence[Find]) -> list[list[Find]]:
    """Return the files in their order, cut where a request would become too large."""
    made: list[list[Find]] = []
    size = 0
    for one in files:
        full = not made or len(made[-1]) >= BATCH_FILES or size + one.size > BATCH_BYTES
        if full or common_root([made[-1][0]]) != common_root([one]):
            made.append([])
            size = 0
        made[-1].append(one)
        size += one.size
    return made


def common_root(files: Mapping[Find, bytes] | Sequence[Find]) -> str:
    """Return the root of `ROOTS`' kind that files of one batch lie below."""
    first = next(iter(files)).here
    scope = first.removeprefix("viking://").split("/")
    return "viking://" + "/".join(scope[: 1 if scope[0] == "resources" else 2])


def checked_root(text: str) -> str:
    """Return an address that can be brought from.

    Raises:
        InvalidUriError: it is none.

    """
    Uri.parse(text, "me")
    return text.rstrip("/")
