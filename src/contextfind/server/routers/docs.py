"""GET /docs: the routes as one page that needs nothing from elsewhere."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse, Response

router = APIRouter(include_in_schema=False)

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>contextfind: routes</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code{font-family:ui-monospace,monospace}td{padding:.2rem .8rem .2rem 0;vertical-align:top}
</style>
<h1>contextfind</h1>
<p>Answers are <code>{"status":"ok","result":…}</code> or
<code>{"status":"error","error":{"code","message","details"}}</code>. Keys go into
<code>X-API-Key</code> or <code>Authorization: Bearer</code>. All fields of all routes:
<a href="/openapi.json">openapi.json</a>.</p>
<table id="routes"></table>
<script>
fetch("/openapi.json").then(answer => answer.json()).then(api => {
  const table = document.getElementById("routes");
  for (const [path, methods] of Object.entries(api.paths))
    for (const [method, route] of Object.entries(methods)) {
      const row = table.insertRow();
      const name = document.createElement("code");
      name.textContent = method.toUpperCase() + " " + path;
      row.insertCell().append(name);
      row.insertCell().textContent = route.description || route.summary;
    }
});
</script>
</html>
"""


@router.get("/docs")
async def docs() -> Response:
    """Return the page."""
    return HTMLResponse(_PAGE)


@router.get("/")
async def root() -> Response:
    """Lead a person with a browser to the page."""
    return RedirectResponse("/docs")
