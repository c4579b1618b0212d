"""Keys: who is asking. The key alone decides; no header and no body field ever does."""

import hashlib
import hmac
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from contextfind.domain.errors import PermissionDeniedError, UnauthenticatedError, UnavailableError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity
from contextfind.ports import Key
from contextfind.server.door import Door
from contextfind.server.guesses import Guesses, peer_of
from contextfind.server.house import House
from contextfind.server.rebinding import check_from_here
from contextfind.server.rules import AuthMode, ServerRules
from contextfind.server.throttle import Allowance, Throttle, too_often
from contextfind.server.toolroom import TOOLS

log = logging.getLogger(__name__)

LOCAL = Identity(DEFAULT_ACCOUNT, DEFAULT_USER, "user")
ROOT_IDENTITY = Identity("", "", "root")
GUARDED = "/api/v1"

_HOW = "send it as 'X-API-Key: KEY' or 'Authorization: Bearer KEY'"
_USE_GRAIN = timedelta(minutes=1)  # last uses are exact to this; each one written costs a sync
_USES_KEPT = 10_000  # keys whose last use is remembered as written; more are written anew


@dataclass(frozen=True, slots=True)
class Credential:
    """Who a key says is asking, and which key that is: a stored one's id, or its setting's name.

    Without any key configured everybody is the local user with the key `local`.
    """

    identity: Identity
    key_id: str


_DEV = Credential(LOCAL, "local")


def digest_of(key: str) -> str:
    """Return the SHA-256 of a key as 64 hex digits: all that is ever stored of it."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class Gatekeeper:
    """Knows the configured keys by their digests and asks the house for all others.

    timer: seconds that only rise, for the limits.
    """

    def __init__(self, rules: ServerRules, door: Door, timer: Callable[[], float]) -> None:
        self.mode: AuthMode = rules.mode
        self._origins = rules.cors_origins
        self._configured = [
            (digest_of(key), Credential(identity, setting))
            for key, identity, setting in (
                (rules.api_key, LOCAL, "server.api_key"),
                (rules.root_api_key, ROOT_IDENTITY, "server.root_api_key"),
            )
            if key
        ]
        self._metrics = digest_of(rules.metrics_key) if rules.metrics_key else ""
        self._door = door
        self._guesses = Guesses(rules.wrong_keys_per_minute, timer)
        self._uses = _Uses()
        self._pace = _pace(rules, timer)

    async def identify(self, headers: Headers, peer: str = "") -> Credential:
        """Return who sent these headers from the address `peer`.

        Raises:
            UnauthenticatedError: no key, or one that nobody knows.
            ResourceExhaustedError: too many wrong keys came from there.
            PermissionDeniedError: no key is needed, and a web page elsewhere may be behind it.

        """
        if self.mode == "dev":
            check_from_here(headers, self._origins)
            return _DEV
        key, header = _sent_key(headers)
        if not key:
            raise UnauthenticatedError(f"no key was sent{_about_scheme(headers)}; {_HOW}")
        digest = digest_of(key)
        self._guesses.check(peer, digest)
        found = self._setting(digest) or await self._stored(digest)
        if found is None:
            self._guesses.wrong(peer)
            raise UnauthenticatedError(f"the key in {header} is not known, or was revoked")
        self._guesses.right(peer, digest)
        return found

    async def check_may_measure(self, headers: Headers, peer: str = "") -> None:
        """Let in who may read the figures of the whole house: a configured key, of whichever setting.

        Stored keys may not: they belong to tenants. Without any key configured, this machine may.

        Raises:
            UnauthenticatedError, ResourceExhaustedError: see `identify`.
            PermissionDeniedError: a tenant's key, or a web page elsewhere.

        """
        digest = digest_of(_sent_key(headers)[0])
        if self.mode == "api_key" and self._metrics:
            self._guesses.check(peer, digest)
            if hmac.compare_digest(self._metrics, digest):
                self._guesses.right(peer, digest)
                return
        credential = await self.identify(headers, peer)
        if credential not in [_DEV, *(known for _, known in self._configured)]:
            raise PermissionDeniedError(
                "this needs server.metrics_key, server.root_api_key or server.api_key; yours is a user's"
            )

    def admit(self, credential: Credential) -> None:
        """Let one request of a key in, when it has not sent too many.

        Raises:
            ResourceExhaustedError: it has.

        """
        wait = 0.0 if self._pace is None else self._pace.take(credential.key_id)
        if wait > 0:
            raise too_often(
                "this key has sent more requests than server.rate_limit_per_minute allows", wait
            )

    def may_administer(self, identity: Identity, account: str | None) -> bool:
        """Whether the identity rules an account; None stands for all of them.

        Without any key configured the local caller rules everything.
        """
        if self.mode == "dev" or identity.role == "root":
            return True
        return identity.role == "admin" and account == identity.account

    def may_see_house(self, identity: Identity) -> bool:
        """Whether figures about all tenants together may be shown.

        A configured `server.api_key` is no reason: tenants of earlier days keep their keys beside it.
        """
        return self.mode == "dev" or identity.role == "root"

    def _setting(self, digest: str) -> Credential | None:
        found = [who for known, who in self._configured if hmac.compare_digest(known, digest)]
        return found[0] if found else None

    async def _stored(self, digest: str) -> Credential | None:
        house = await self._door.house()
        key = await house.identities.key(digest)
        if key is None or not hmac.compare_digest(key.digest, digest):
            return None
        await self._uses.note(house, key)
        return Credential(key.identity, key.id)


class _Uses:
    """Writes the last use of keys, of each at most once a minute."""

    def __init__(self) -> None:
        self._written: dict[str, datetime] = {}  # by digest: a rotated key is another one

    async def note(self, house: House, key: Key) -> None:
        """Write it, if need be; a store that takes no writes is no reason to refuse a reader."""
        now = house.clock()
        written = self._written.get(key.digest)
        if written is not None and abs(now - written) < _USE_GRAIN:
            return
        if len(self._written) >= _USES_KEPT:
            self._written.clear()
        self._written[key.digest] = now
        try:
            await house.identities.used(key.id, now)
        except UnavailableError as error:
            log.warning("the last use of key %s was not noted: %s", key.id, error)


class Gate:
    """ASGI layer: nobody comes to a route below /api/v1, or to /mcp, without an identity, nor too often."""

    def __init__(self, app: ASGIApp, keeper: Gatekeeper) -> None:
        self.app = app
        self.keeper = keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Put the identity and the key's id into the request's state; the body is not touched.

        Raises:
            UnauthenticatedError, PermissionDeniedError: see `Gatekeeper.identify`.
            ResourceExhaustedError: too many requests with this key, or too many wrong keys.

        """
        if scope["type"] == "http" and _is_guarded(scope["path"]):
            credential = await self.keeper.identify(Headers(scope=scope), peer_of(scope))
            scope.setdefault("state", {}).update(
                identity=credential.identity, key_id=credential.key_id
            )
            self.keeper.admit(credential)
        await self.app(scope, receive, send)


def _is_guarded(path: str) -> bool:
    return path.startswith(GUARDED) or path.rstrip("/") == TOOLS


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


def _pace(rules: ServerRules, timer: Callable[[], float]) -> Throttle | None:
    each, burst = rules.rate_limit_per_minute, rules.rate_limit_burst
    return Throttle(Allowance(each, each if burst is None else burst), timer) if each else None


def _sent_key(headers: Headers) -> tuple[str, str]:
    """Return the key and the header it came in; X-API-Key wins."""
    plain = headers.get("x-api-key", "").strip()
    if plain:
        return _as_typed(plain), "X-API-Key"
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return "", ""
    return _as_typed(token.strip()), "Authorization"


def _about_scheme(headers: Headers) -> str:
    """Return what is wrong with an Authorization that holds no key, in brackets."""
    scheme = headers.get("authorization", "").partition(" ")[0]
    if scheme.lower() == "bearer":
        return " (Authorization: Bearer came without a key)"
    return f" (Authorization: {scheme[:20]} is not understood)" if scheme else ""


def _as_typed(value: str) -> str:
    """Return a header's text as the UTF-8 it was sent in; the framework reads it as Latin-1."""
    return value.encode("latin-1").decode("utf-8", "surrogateescape")
