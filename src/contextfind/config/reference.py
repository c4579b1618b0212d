"""The tables of docs/configuration.md, written from the model so that they cannot lie."""

import json
from typing import Any

from contextfind.config.complaints import allowed, schema_of
from contextfind.config.layers import SECTIONS


def render_reference() -> str:
    """Return a Markdown section per section of ov.conf, with all keys."""
    parts: list[str] = []
    for name, section in SECTIONS.items():
        parts += [f"## {name}", "", section.__doc__ or "", ""]
        parts += ["| key | default | allowed | meaning |", "|---|---|---|---|"]
        parts += [_row(key, shape) for key, shape in schema_of(section).items()]
        parts.append("")
    return "\n".join(parts)


def _row(key: str, shape: dict[str, Any]) -> str:
    cells = (f"`{key}`", _default(shape), allowed(shape), shape["description"])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(shape: dict[str, Any]) -> str:
    default = shape["default"]
    return "" if default in ("", None) else f"`{json.dumps(default, ensure_ascii=False)}`"
