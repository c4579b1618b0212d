"""Files damaged as disks damage them."""

from pathlib import Path

PAGE = 4_096  # bytes, SQLite's own default


def spoil_pages(file: Path, marker: bytes) -> int:
    """Overwrite the head of every page of a database that holds the marker; return how many those are."""
    data = bytearray(file.read_bytes())
    pages = set()
    place = data.find(marker)
    while place >= 0:
        pages.add(place // PAGE)
        place = data.find(marker, place + 1)
    for page in pages:
        data[page * PAGE : page * PAGE + 200] = bytes(200)
    file.write_bytes(data)
    return len(pages)


def flip(file: Path, place: int) -> None:
    """Turn over one bit of a file; a negative place counts from its end."""
    data = bytearray(file.read_bytes())
    data[place] ^= 0x10
    file.write_bytes(data)


def cut(file: Path, share: float = 0.5) -> None:
    """Keep only the first part of a file."""
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
