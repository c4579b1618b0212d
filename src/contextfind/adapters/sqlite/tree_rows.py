"""The rows of one account's tree: what a commit and an import both do to them."""

import sqlite3
from collections.abc import Iterator

from contextfind.adapters.sqlite.conditions import below
from contextfind.adapters.sqlite.rows import PASSAGE_COLUMNS, PassageRow, storable
from contextfind.domain.errors import ConflictError
from contextfind.domain.records import Level
from contextfind.domain.uri import Uri


class TreeRows:
    """Reads and writes the rows of an account inside a transaction of the writer.

    loose: digests whose passages went away; their vectors may have no use any more.
    """

    def __init__(self, connection: sqlite3.Connection, account: str) -> None:
        self._connection = connection
        self._account = account
        self._loose: set[str] = set()

    def passages(self, record: int) -> list[PassageRow]:
        """Return the passages of a record by ordinal."""
        return self._connection.execute(
            f"SELECT {PASSAGE_COLUMNS} FROM passages WHERE record = ? ORDER BY ordinal",  # noqa: S608 - fixed text
            (record,),
        ).fetchall()

    def write_passages(self, record: int, level: Level, rows: list[PassageRow]) -> None:
        """Write the passages of a record that has none."""
        later = int(level is not Level.DETAIL)
        self._connection.executemany(
            f"INSERT INTO passages ({PASSAGE_COLUMNS}, record, later, pending)"  # noqa: S608 - fixed text
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
            " NOT EXISTS (SELECT 1 FROM vectors WHERE digest = ?5))",
            [(*row, record, later) for row in rows],
        )

    def replace_passages(self, record: int, level: Level, rows: list[PassageRow]) -> None:
        """Write the passages of a record in the place of those it has."""
        self.loosen(record)
        self._connection.execute("DELETE FROM passages WHERE record = ?", (record,))
        self.write_passages(record, level, rows)

    def write_tags(self, record: int, tags: tuple[str, ...]) -> None:
        """Write the tags of a record that has none."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO tags (tag, record) VALUES (?, ?)",
            [(storable(tag), record) for tag in tags],
        )

    def replace_tags(self, record: int, tags: tuple[str, ...]) -> None:
        """Write the tags of a record in the place of those it has."""
        self._connection.execute("DELETE FROM tags WHERE record = ?", (record,))
        self.write_tags(record, tags)

    def mark_stale(self, uri: Uri) -> None:
        """Have the summaries of a directory written again."""
        self._connection.execute(
            "INSERT OR REPLACE INTO stale (account, uri, depth) VALUES (?, ?, ?)",
            (self._account, uri.text, len(uri.segments)),
        )

    def loosen(self, record: int) -> None:
        """Note that the passages of a record go."""
        found = self._connection.execute("SELECT digest FROM passages WHERE record = ?", (record,))
        self._loose.update(digest for (digest,) in found)

    def drop_loose_vectors(self) -> None:
        """Delete the vectors that no passage uses any more."""
        self._connection.executemany(
            "DELETE FROM vectors WHERE digest = ?1"
            " AND NOT EXISTS (SELECT 1 FROM passages WHERE digest = ?1)",
            [(digest,) for digest in sorted(self._loose)],
        )

    def check_kind(self, uri: Uri, level: Level) -> None:
        """Refuse what cannot be new at an address.

        Raises:
            ConflictError: a file where a directory is, or a directory where a file is.

        """
        for up in above(uri):
            if self._is_file(up):
                raise _conflict(uri, f"{up.text!r} is a file")
        if level is Level.DETAIL:
            if self.is_directory(uri):
                raise _conflict(uri, "it is a directory")
        elif self._is_file(uri):
            raise _conflict(uri, "it is a file")

    def is_directory(self, uri: Uri) -> bool:
        """Whether there is a directory, told of or not."""
        inside = below(uri)
        found = self._connection.execute(
            "SELECT 1 FROM records WHERE account = ? AND uri = ? AND level < 2"  # noqa: S608 - fixed text, bound values
            f" UNION ALL SELECT 1 FROM records WHERE account = ? AND {inside.sql} LIMIT 1",
            (self._account, uri.text, self._account, *inside.values),
        )
        return found.fetchone() is not None

    def _is_file(self, uri: Uri) -> bool:
        query = "SELECT 1 FROM records WHERE account = ? AND uri = ? AND level = 2"
        return self._connection.execute(query, (self._account, uri.text)).fetchone() is not None


def note(connection: sqlite3.Connection, record: int) -> None:
    """Make a record's entry the last one of the log."""
    # REPLACE takes the old entry out; AUTOINCREMENT gives the new one the next position.
    connection.execute("INSERT OR REPLACE INTO log (record) VALUES (?)", (record,))


def lacks_vectors(connection: sqlite3.Connection, record: int) -> bool:
    """Whether a passage of a record has no vector yet."""
    query = "SELECT 1 FROM passages WHERE record = ? AND pending = 1 LIMIT 1"
    return connection.execute(query, (record,)).fetchone() is not None


def above(uri: Uri) -> Iterator[Uri]:
    """Give the addresses above, nearest first, with the root."""
    parent = uri.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def _conflict(uri: Uri, reason: str) -> ConflictError:
    return ConflictError(f"cannot write {uri.text!r}: {reason}", {"uri": uri.text})
