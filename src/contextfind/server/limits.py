"""How large a request may be."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contextfind.domain.errors import ResourceExhaustedError
from contextfind.server.context import header_of
from contextfind.server.rules import ServerRules

UPLOAD_PATH = "/api/v1/resources/temp_upload"
_FORM_BYTES = 64 * 1024  # boundaries, part headers and small form fields around an upload


class BodyLimit:
    """ASGI layer that stops reading where a body becomes too large, whatever its header claimed."""

    def __init__(self, app: ASGIApp, rules: ServerRules) -> None:
        self.app = app
        self.rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of allowed size.

        Raises:
            ResourceExhaustedError: the body is, or says it will be, larger.

        """
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self._limit(scope["path"])
        announced = header_of(scope, b"content-length")
        if announced.isdecimal() and int(announced) > limit:
            raise _too_large(limit)
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise _too_large(limit)
            return message

        await self.app(scope, counted, send)

    def _limit(self, path: str) -> int:
        if path == UPLOAD_PATH:
            return self.rules.max_upload_bytes + _FORM_BYTES
        return self.rules.max_body_bytes


def _too_large(limit: int) -> ResourceExhaustedError:
    return ResourceExhaustedError(
        f"the request body is larger than {limit} bytes", {"max_bytes": limit}
    )
