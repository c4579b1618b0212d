"""What came of looking for memories in an archive."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.domain.uri import Uri


@dataclass(frozen=True, slots=True)
class Extraction:
    """The memories that an archive gave, by address, each once.

    unchanged: they say already what was found. invalid: for each thing that could not be kept, a line
    that says what and why.
    """

    created: Sequence[Uri] = ()
    updated: Sequence[Uri] = ()
    unchanged: Sequence[Uri] = ()
    invalid: Sequence[str] = ()
