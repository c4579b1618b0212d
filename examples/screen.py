"""Where the examples and benchmarks print."""

from rich.console import Console

LOG_WIDTH = 120  # columns where there is no terminal to ask: tables stay tables in a log


def screen(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or wide enough for a table in a log."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=LOG_WIDTH)
