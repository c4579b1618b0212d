"""What is wrong with a value, in one line: where it stands, what it is, what is allowed."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from contextfind.config.layers import Given
from contextfind.config.model import Settings
from contextfind.domain.errors import ConfigError

_KINDS = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "array": "list of texts",
    "object": "object",
}


def config_error(error: ValidationError, values: Mapping[tuple[str, str], Given]) -> ConfigError:
    """Return pydantic's findings as our error; the values of secrets are not shown."""
    lines: list[str] = []
    for found in error.errors(include_url=False):
        place = tuple(str(part) for part in found["loc"][:2])
        if len(place) < 2:  # noqa: PLR2004 - a rule over a whole section speaks for itself
            lines.append(found["msg"].removeprefix("Value error, "))
            continue
        section, key = place
        shape = schema_of(Settings.model_fields[section].annotation)[key]
        given = values.get((section, key))
        value = "not usable" if shape.get("secret") or given is None else repr(given.value)
        origin = "" if given is None else f", given as {given.origin}"
        lines.append(f"{section}.{key} is {value}{origin}; expected {allowed(shape)}")
    return ConfigError("; ".join(dict.fromkeys(lines)), {"problems": len(lines)})


def schema_of(section: Any) -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each key of a section."""
    if not issubclass(section, BaseModel):
        raise TypeError(section)
    properties: dict[str, dict[str, Any]] = section.model_json_schema()["properties"]
    return properties


def allowed(shape: Mapping[str, Any]) -> str:
    """Return which values a JSON schema allows: `whole number from 1 to 64`."""
    if "anyOf" in shape:
        kinds = [kind for kind in shape["anyOf"] if kind.get("type") != "null"]
        return allowed(kinds[0]) + " or null"
    if "const" in shape:
        return f"`{shape['const']}`"
    if "enum" in shape:
        return " or ".join(f"`{value}`" for value in shape["enum"] if value)
    if "pattern" in shape:
        return "http(s) address"
    return _KINDS[shape["type"]] + _bounds(shape)


def _bounds(shape: Mapping[str, Any]) -> str:
    low, high = shape.get("minimum"), shape.get("maximum")
    above, below = shape.get("exclusiveMinimum"), shape.get("exclusiveMaximum")
    words = [
        f"from {low:,}" if low is not None else f"above {above:,}" if above is not None else "",
        f"to {high:,}" if high is not None else f"to below {below:,}" if below is not None else "",
    ]
    return "".join(f" {word}" for word in words if word)
