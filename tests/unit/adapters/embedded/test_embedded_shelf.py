"""Files on the shelf of the index."""

from pathlib import Path

from contextfind.adapters.embedded.shelf import Maker, Shelf


def test_a_copy_of_a_killed_process_does_not_write_into_the_files_of_the_next(
    tmp_path: Path,
) -> None:
    killed, alive = (Shelf(tmp_path, Maker(8, "tests", graphs=True)) for _ in range(2))

    def fill(path: Path) -> None:
        path.write_bytes(b"whole")
        killed._put(lambda late: late.write_bytes(b"late") and None)

    assert alive._put(fill).read_bytes() == b"whole"
