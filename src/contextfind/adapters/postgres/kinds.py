"""Where files are and where directories: neither may come where the other is."""

from collections.abc import Iterator, Sequence

from psycopg import AsyncConnection

from contextfind.adapters.postgres.conditions import span
from contextfind.domain.errors import ConflictError
from contextfind.domain.records import Level
from contextfind.domain.uri import Uri

# A directory is told of (L0, L1), or has something below it.
IS_DIRECTORY = (
    "(EXISTS (SELECT 1 FROM records WHERE account = %(account)s AND uri = wanted.place AND level < 2)"
    " OR EXISTS (SELECT 1 FROM records WHERE account = %(account)s"
    " AND uri >= wanted.low AND uri < wanted.high AND uri <> wanted.place))"
)
WANTED = "unnest(%(places)s::text[], %(lows)s::text[], %(highs)s::text[])"


class Kinds:
    """Knows all files at and above some addresses, and which of these are directories."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()

    @classmethod
    async def read(
        cls, connection: AsyncConnection, account: str, places: Sequence[tuple[str, int]]
    ) -> "Kinds":
        """Look at the addresses (and levels) that something new is to come to."""
        kinds = cls()
        if not places:
            return kinds
        new = {Uri(address) for address, _ in places}
        lines = {uri.text for uri in new}.union(up.text for uri in new for up in above(uri))
        files = await connection.execute(
            "SELECT uri FROM records WHERE account = %s AND uri = ANY(%s) AND level = 2",
            (account, sorted(lines)),
        )
        leaves = [Uri(address) for address, level in places if level == Level.DETAIL]
        folders = await connection.execute(
            f"SELECT place FROM {WANTED} AS wanted (place, low, high) WHERE {IS_DIRECTORY}",  # noqa: S608 - fixed text
            areas(account, leaves),
        )
        kinds._files = {row[0] for row in await files.fetchall()}
        kinds._folders = {row[0] for row in await folders.fetchall()}
        return kinds

    def check(self, uri: Uri, level: Level) -> None:
        """Refuse what cannot be new at an address.

        Raises:
            ConflictError: a file where a directory is, or a directory where a file is.

        """
        for up in above(uri):
            if up.text in self._files:
                raise _conflict(uri, f"{up.text!r} is a file")
        if level is Level.DETAIL and uri.text in self._folders:
            raise _conflict(uri, "it is a directory")
        if level is not Level.DETAIL and uri.text in self._files:
            raise _conflict(uri, "it is a file")

    def add(self, uri: Uri, level: Level) -> None:
        """Make what is new at an address known, unless it is refused: see `check`."""
        self.check(uri, level)
        (self._files if level is Level.DETAIL else self._folders).add(uri.text)
        self._folders.update(up.text for up in above(uri))


def areas(account: str, uris: Sequence[Uri]) -> dict[str, object]:
    """Return the values of IS_DIRECTORY and WANTED: of each address itself, and where what lies below it begins and ends."""
    spans = [span(uri) for uri in uris]
    return {
        "account": account,
        "places": [uri.text for uri in uris],
        "lows": [low for low, _ in spans],
        "highs": [high for _, high in spans],
    }


def above(uri: Uri) -> Iterator[Uri]:
    """Give the addresses above, nearest first, with the root."""
    parent = uri.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def _conflict(uri: Uri, reason: str) -> ConflictError:
    return ConflictError(f"cannot write {uri.text!r}: {reason}", {"uri": uri.text})
