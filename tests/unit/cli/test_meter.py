import io
from contextlib import redirect_stderr

from contextfind.cli.meter import Bars, Lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_written_at_every_tenth_and_at_the_end() -> None:
    with redirect_stderr(io.StringIO()) as written, Lines() as lines:
        for done in range(501):
            lines.show("indexed", done, 500, "files")
    told = written.getvalue().splitlines()
    assert told[0] == "indexed 0/500 files"
    assert told[-1] == "indexed 500/500 files"
    assert len(told) == 11


def test_a_stage_without_a_known_end_is_told_once() -> None:
    with redirect_stderr(io.StringIO()) as written, Lines() as lines:
        for _ in range(3):
            lines.show("embedding", 0, 0, "texts")
    assert written.getvalue() == "embedding …\n"


def test_bars_show_every_stage_and_finish_the_ones_before() -> None:
    with redirect_stderr(Terminal()) as written, Bars() as bars:
        bars.show("uploading", 1, 4, "KiB")
        bars.show("indexed", 1, 4, "files")
        bars.show("indexed", 4, 4, "files")
        bars.show("embedding", 0, 0, "texts")
    last = written.getvalue().replace("\x1b[2K", "").splitlines()
    assert any("indexed" in line and "4/4 files" in line for line in last)
    assert any("uploading" in line for line in last)
