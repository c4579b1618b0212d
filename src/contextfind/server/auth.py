"""Keys: who is asking. The key alone decides; no header and no body field ever does."""

import hashlib
import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from contextfind.domain.errors import PermissionDeniedError, UnauthenticatedError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity
from contextfind.server.door import Door
from contextfind.server.rules import AuthMode, ServerRules

LOCAL = Identity(DEFAULT_ACCOUNT, DEFAULT_USER, "user")
ROOT_IDENTITY = Identity("", "", "root")
GUARDED = "/api/v1"

_HOW = "send it as 'X-API-Key: KEY' or 'Authorization: Bearer KEY'"


def digest_of(key: str) -> str:
    """Return the SHA-256 of a key as 64 hex digits: all that is ever stored of it."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class Gatekeeper:
    """Knows the configured keys by their digests and asks the house for all others."""

    def __init__(self, rules: ServerRules, door: Door) -> None:
        self.mode: AuthMode = rules.mode
        self._configured = [
            (digest_of(key), identity)
            for key, identity in ((rules.api_key, LOCAL), (rules.root_api_key, ROOT_IDENTITY))
            if key
        ]
        self._several_tenants = bool(rules.root_api_key)
        self._door = door

    async def identify(self, headers: Headers) -> Identity:
        """Return who sent these headers.

        Raises:
            UnauthenticatedError: no key, or one that nobody knows.

        """
        if self.mode == "dev":
            return LOCAL
        key, header = _sent_key(headers)
        if not key:
            scheme = headers.get("authorization", "").partition(" ")[0]
            other = f" (Authorization: {scheme[:20]} is not understood)" if scheme else ""
            raise UnauthenticatedError(f"no key was sent{other}; {_HOW}")
        digest = digest_of(key)
        found = [who for known, who in self._configured if hmac.compare_digest(known, digest)]
        if found:
            return found[0]
        return await self._stored(digest, header)

    def may_administer(self, identity: Identity, account: str | None) -> bool:
        """Whether the identity rules an account; None stands for all of them.

        Without any key configured the local caller rules everything.
        """
        if self.mode == "dev" or identity.role == "root":
            return True
        return identity.role == "admin" and account == identity.account

    def may_see_house(self, identity: Identity) -> bool:
        """Whether figures about all tenants together may be shown."""
        return not self._several_tenants or identity.role == "root"

    async def _stored(self, digest: str, header: str) -> Identity:
        house = await self._door.house()
        key = await house.identities.key(digest)
        if key is None or not hmac.compare_digest(key.digest, digest):
            raise UnauthenticatedError(f"the key in {header} is not known, or was revoked")
        await house.identities.used(key.id, house.clock())
        return key.identity


class Gate:
    """ASGI layer: nobody comes to a route below /api/v1 without an identity."""

    def __init__(self, app: ASGIApp, keeper: Gatekeeper) -> None:
        self.app = app
        self.keeper = keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Put the identity into the request's state.

        Raises:
            UnauthenticatedError: see `Gatekeeper.identify`.

        """
        if scope["type"] == "http" and scope["path"].startswith(GUARDED):
            identity = await self.keeper.identify(Headers(scope=scope))
            scope.setdefault("state", {})["identity"] = identity
        await self.app(scope, receive, send)


def check_administers(keeper: Gatekeeper, identity: Identity, account: str | None) -> None:
    """Refuse who does not rule an account (None = all of them).

    Raises:
        PermissionDeniedError: the key has no such right.

    """
    if not keeper.may_administer(identity, account):
        wanted = (
            "the root key" if account is None else "the root key or an admin key of the account"
        )
        raise PermissionDeniedError(f"this needs {wanted}; yours has the role {identity.role!r}")


def _sent_key(headers: Headers) -> tuple[str, str]:
    """Return the key and the header it came in; X-API-Key wins."""
    plain = headers.get("x-api-key", "").strip()
    if plain:
        return plain, "X-API-Key"
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return (token.strip(), "Authorization") if scheme.lower() == "bearer" else ("", "")
