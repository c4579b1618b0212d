"""What is wrong inside a filter, in words that are enough to correct it."""

import reprlib

from contextfind.domain.errors import InvalidArgumentError

_READABLE_BITS = 128  # of an integer; Python refuses to spell very long ones


class _Short(reprlib.Repr):
    """`repr` that ends early in long values and does not go deep."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = 80

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return (
            super().repr_int(x, level) if bits <= _READABLE_BITS else f"an integer of {bits} bits"
        )


_SHORT = _Short()


def fault(path: str, value: object, expected: str) -> InvalidArgumentError:
    """Return the error for a place in the filter: its path, what stands there, what was expected."""
    text = shown(value)
    return InvalidArgumentError(
        f"{path} is {text}; expected {expected}", {"field": path, "value": text}
    )


def lack(path: str, expected: str) -> InvalidArgumentError:
    """Return the error for a place where something had to stand."""
    return InvalidArgumentError(f"{path} is missing; expected {expected}", {"field": path})


def shown(value: object) -> str:
    """Return `repr(value)`, shortened, however long or deep the value is."""
    return _SHORT.repr(value)
