"""What is wrong with a field, in one sentence: its name, the value, what was expected."""

from collections.abc import Mapping, Sequence

from contextfind.server.wire.body import shown

# pydantic's kind of error -> what the sentence says after `expected`; the rest speaks for itself.
_EXPECTED: Mapping[str, str] = {
    "string_type": "text",
    "list_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "too_long": "at most {max_length} of them",
    "string_too_long": "at most {max_length} characters",
    "literal_error": "{expected}",
}


def sentence(error: Mapping[str, object], loc: Sequence[object], kind: str) -> str:
    """Return what pydantic or FastAPI found wrong as a caller can use it.

    loc: where, beginning with `body` or `query`. kind: pydantic's name of the error.
    """
    told = str(error.get("msg"))
    context = error.get("ctx")
    context = context if isinstance(context, Mapping) else {}
    if kind == "json_invalid":
        reason = str(context.get("error", told)).removesuffix(" at")
        return f"the body is no JSON: {reason} at character {loc[-1] if loc else 0}"
    field = field_name(loc)
    if not loc[1:]:
        return _about_the_body(error.get("input"), kind)
    if kind == "missing":
        return f"{field} is missing; it is required"
    if kind in _EXPECTED:
        told = f"expected {_EXPECTED[kind].format_map(_plain(context))}"
    return f"{field} is {shown(error.get('input'))}; {told[:1].lower()}{told[1:]}"


def field_name(loc: Sequence[object]) -> str:
    """Return the path of a field as a caller would write it: `tags[0]`."""
    name = ""
    for part in loc[1:]:
        name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else str(part)
    return name or "the body"


def _plain(context: Mapping[str, object]) -> dict[str, object]:
    """Return bounds as a caller would write them: 1, not 1.0."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in context.items()
    }


def _about_the_body(value: object, kind: str) -> str:
    if kind == "missing":
        return "the body is missing; expected a JSON object"
    if isinstance(value, bytes):  # FastAPI parses only what is announced as JSON
        return (
            "the body was not sent as JSON; "
            "expected a JSON object with the header Content-Type: application/json"
        )
    return f"the body is {shown(value)}; expected a JSON object"
