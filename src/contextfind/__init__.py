"""contextfind: a retrieval service for AI agents."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextfind.client import AsyncClient, Client, ClientError
    from contextfind.pipeline import AsyncRAGQueryPipeline, RAGQueryPipeline

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "AsyncRAGQueryPipeline",
    "Client",
    "ClientError",
    "RAGQueryPipeline",
    "__version__",
]

# Loaded when they are asked for: importing the package itself stays cheap, and pulls in no engine.
_OFFERED = {
    "AsyncClient": "contextfind.client",
    "AsyncRAGQueryPipeline": "contextfind.pipeline",
    "Client": "contextfind.client",
    "ClientError": "contextfind.client",
    "RAGQueryPipeline": "contextfind.pipeline",
}


def __getattr__(name: str) -> Any:
    """Return what the package offers by name."""
    if name not in _OFFERED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_OFFERED[name]), name)


def __dir__() -> list[str]:
    return [*__all__]
