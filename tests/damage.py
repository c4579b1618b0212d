"""Files damaged as disks damage them."""

import sqlite3
from contextlib import closing
from pathlib import Path

PAGE = 4_096  # bytes, SQLite's own default
LEAF = 13  # so begins a page of a table that holds rows


def spoil_pages(file: Path, marker: bytes) -> int:
    """Overwrite every page of rows of a database that holds the marker; return how many those are."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("VACUUM")  # else pages also hold remains of what was there before
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(file.read_bytes())
    pages = set()
    place = data.find(marker)
    while place >= 0:
        pages.add(place // PAGE * PAGE)
        place = data.find(marker, place + 1)
    rows = [page for page in pages if data[page] == LEAF]
    for page in rows:
        data[page : page + 200] = bytes(200)
    file.write_bytes(data)
    return len(rows)


def flip(file: Path, place: int) -> None:
    """Turn over one bit of a file; a negative place counts from its end."""
    data = bytearray(file.read_bytes())
    data[place] ^= 0x10
    file.write_bytes(data)


def cut(file: Path, share: float = 0.5) -> None:
    """Keep only the first part of a file."""
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
