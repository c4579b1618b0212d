"""What `telemetry` tells about a request."""

import time
from collections.abc import Mapping

from starlette.requests import Request

from contextfind.server.context import request_id_of


def telemetry(
    request: Request, operation: str, details: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return the telemetry of a finished operation: milliseconds since the request came in."""
    spent = (time.perf_counter() - float(request.state.started)) * 1000
    return {
        "id": request_id_of(request.scope),
        "summary": {
            "operation": operation,
            "status": "ok",
            "duration_ms": round(spent, 3),
            **(details or {}),
        },
    }
