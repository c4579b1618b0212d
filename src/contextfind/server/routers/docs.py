"""GET /docs: the routes, their fields and examples as one page that needs nothing from elsewhere."""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)

# Its own style and nothing else: no script, no picture, no form, not inside another page.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>contextfind: routes</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre{background:#8881;padding:.6rem;overflow-x:auto}
td{padding:.1rem .8rem .1rem 0;vertical-align:top}h2{font-size:1rem;margin:2rem 0 0}
</style>
<h1>contextfind</h1>
<p>Answers are <code>{"status":"ok","result":…}</code> or
<code>{"status":"error","result":null,"error":{"code","message","details"}}</code>. Keys go into
<code>X-API-Key</code> or <code>Authorization: Bearer</code>. All of this for programs:
<a href="openapi.json">openapi.json</a>.</p>
"""


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Return the page."""
    page = _HEAD + "".join(_sections(request.app.openapi())) + "</html>\n"
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


def _sections(api: Mapping[str, Any]) -> Iterator[str]:
    """Give a section for each route of an OpenAPI document."""
    for path, methods in api["paths"].items():
        for method, route in methods.items():
            yield f'<h2 id="{escape(route["operationId"])}"><code>{method.upper()} {escape(path)}</code></h2>'
            yield f"<p>{_line(route.get('description', ''))}</p>"
            content = route.get("requestBody", {}).get("content", {})
            yield _table(_parameters(route), _fields(api, content))
            for shown in content.get("application/json", {}).get("examples", {}).values():
                yield f"<p>{_line(shown['summary'])}</p><pre>{_call(method, path, shown['value'])}</pre>"


def _parameters(route: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    return [
        (one["name"], {"description": one.get("description", ""), **one["schema"]})
        for one in route.get("parameters", [])
    ]


def _fields(
    api: Mapping[str, Any], content: Mapping[str, Any]
) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return the fields of a body, whichever media type it has."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for body in content.values():
        schema = body["schema"]
        for one in (schema, *schema.get("anyOf", [])):
            name = one.get("$ref", "").rpartition("/")[2]
            found += api["components"]["schemas"].get(name, {}).get("properties", {}).items()
    return found


def _table(*fields: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    rows = [
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(_kind(schema))}</td>"
        f"<td>{_line(schema.get('description', ''))}</td></tr>"
        for group in fields
        for name, schema in group
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _kind(schema: Mapping[str, Any]) -> str:
    """Return type, bounds and default in a few words: `integer 1..100 = 10`."""
    kinds = [_kind(one) for one in schema.get("anyOf", []) if one.get("type") != "null"]
    kind = " or ".join(dict.fromkeys(kinds)) or _plain(schema)
    default = schema.get("default")
    shown = "" if default in (None, "") else f" = {json.dumps(default)}"
    return kind + shown


def _plain(schema: Mapping[str, Any]) -> str:
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if choices:
        return " | ".join(map(str, choices))
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and high is None:
        return str(schema.get("type", "any"))
    ends = ["" if end is None else f"{end:g}" for end in (low, high)]
    return f"{schema.get('type', 'number')} {'..'.join(ends)}"


def _line(text: str) -> str:
    """Return prose as HTML; what stands between backticks as code."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if at % 2 else part.replace("\n\n", "<br>")
        for at, part in enumerate(parts)
    )


def _call(method: str, path: str, body: object) -> str:
    shown = json.dumps(body, ensure_ascii=False, indent=1).replace("'", "'\\''")
    verb = "" if method == "post" else f" -X {method.upper()}"
    head = f"curl{verb} http://127.0.0.1:1933{path} -H 'Content-Type: application/json' -d '"
    return escape(head + shown + "'")
