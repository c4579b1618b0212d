"""From which positions of the log an index can go on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a position is one of this log: `position in reach`. An index can always begin at 0.

    first: before it deletes may be missing. last: the end of the log. lost: positions that were given out once, in
    front of the ones that are given out since an older state of the log was put back.
    """

    first: int
    last: int
    lost: range = range(0)

    def __contains__(self, position: object) -> bool:
        """Return whether all that has happened since a position can be read."""
        if not isinstance(position, int) or position in self.lost:
            return False
        return self.first <= position <= self.last
