"""How far long work on a data directory is, told to whoever started it."""

from collections.abc import Callable

Told = Callable[[str, int, int, str], None]
"""Hears of the stage, how much of it is done, of how much (0: nobody knows), and in which unit."""
