"""Tags: `key=value`, lower case, at most one value per key."""

from collections.abc import Iterable
from typing import Literal

from contextfind.domain.filter_faults import fault

TagMode = Literal["replace", "append", "clear"]


def parse_tags(texts: Iterable[str], field: str = "tags") -> tuple[str, ...]:
    """Return the tags as they are stored: trimmed, lower case, sorted, last value of a key wins.

    Raises:
        InvalidArgumentError: not exactly one `=`, or nothing on one side of it.

    """
    values: dict[str, str] = {}
    for index, text in enumerate(texts):
        key, equals, value = (part.strip() for part in text.strip().lower().partition("="))
        if not (key and equals and value) or "=" in value:
            raise fault(f"{field}[{index}]", text, "key=value with exactly one '='")
        values[key] = value
    return tuple(f"{key}={value}" for key, value in sorted(values.items()))


def retagged(known: Iterable[str], given: Iterable[str], mode: TagMode) -> tuple[str, ...]:
    """Return the tags of what has `known` when it is given others, sorted.

    `append` leaves those whose key is not given; `clear` leaves none.
    """
    kept = known if mode == "append" else ()
    new = () if mode == "clear" else given
    by_key = {tag.partition("=")[0]: tag for tag in (*kept, *new)}
    return tuple(by_key[key] for key in sorted(by_key))
