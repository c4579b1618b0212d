"""GET /: the page for people, and the files it is made of (`server/pages`)."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import Response

router = APIRouter(include_in_schema=False)

# Its own files and this server, nothing else; no text becomes markup by accident, in no script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_FOLDER = files("contextfind.server") / "pages"
_KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_FRONT = "index.html"


@router.head("/")
@router.get("/")
def front() -> Response:
    """Return the page; it needs no key, what it asks for may."""
    return _shown(_FRONT)


@router.get("/page/{name}")
def file(name: str) -> Response:
    """Return a file of the page."""
    return _shown(name)


def _shown(name: str) -> Response:
    data = _pages().get(name)
    if data is None:
        raise HTTPException(404)
    kind = _KINDS[name[name.rindex(".") :]]
    return Response(data, media_type=kind, headers={"Content-Security-Policy": POLICY})


@cache
def _pages() -> Mapping[str, bytes]:
    """Return all files by name, read once, in the thread of whoever asks first."""
    return {
        one.name: one.read_bytes()
        for one in _FOLDER.iterdir()
        if one.name[one.name.rfind(".") :] in _KINDS
    }
