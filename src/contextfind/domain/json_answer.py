"""The JSON in what a language model said: bare, fenced, among prose, or slightly broken."""

import json
import re
from collections.abc import Iterator
from itertools import islice

from contextfind.domain.errors import UnavailableError

_FENCED = re.compile(r"```[\w-]*[^\S\n]*\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r'\{(?=\s*["}])|\[(?=\s*[\[{"\]])')  # not the {name} or [1] of prose
_OPENINGS_TRIED = 32  # an answer whose JSON is behind more brackets than that holds none
_LONGEST = 1_000_000  # characters looked at; a model that says more has lost its way
# A string without an end reaches to the end of the text: looking for one behind each of its quotes is
# quadratic.
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)


def json_in(text: str) -> object:
    """Return the JSON value a model's answer holds.

    Taken as it stands; else from a code fence; else the longest object or list among prose. Forgiven:
    trailing commas, and line breaks inside strings. Not forgiven: an end that was cut off, for half
    an answer may say the opposite of the whole; NaN and Infinity, which are no JSON.

    Raises:
        UnavailableError: there is none.

    """
    looked_at = text[:_LONGEST].strip().removeprefix("\ufeff")
    for candidate in _candidates(looked_at):
        try:
            return _decoded(candidate)
        except (ValueError, RecursionError):
            continue
    found = max(_among_prose(looked_at), key=lambda one: one[0], default=None)
    if found is None:
        raise UnavailableError("the model's answer holds no JSON", {"retryable": False})
    return found[1]


def _candidates(text: str) -> Iterator[str]:
    yield text
    for fenced in _FENCED.finditer(text):
        yield fenced[1]


def _among_prose(text: str) -> Iterator[tuple[int, object]]:
    """Yield (characters, value) for objects and lists that stand anywhere, none inside another.

    What begins like one and is none ends the search: whole ones further on may be pieces of it.
    """
    mended = _without_trailing_commas(text)
    end = 0
    for opening in islice(_OPENING.finditer(mended), _OPENINGS_TRIED):
        if opening.start() < end:
            continue
        try:
            value, end = _DECODER.raw_decode(mended, opening.start())
        except (ValueError, RecursionError):
            return
        yield end - opening.start(), value


def _decoded(text: str) -> object:
    try:
        value: object = _DECODER.decode(text)
    except ValueError:
        value = _DECODER.decode(_without_trailing_commas(text))
    return value


def _without_trailing_commas(text: str) -> str:
    return _TRAILING_COMMA.sub(lambda found: found[1] or "", text)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)  # not strict: raw line breaks
