"""The signature of Volcengine's OpenAPI (HMAC-SHA256 with an access key and a secret key).

Source: the algorithm as Volcengine documents it under "API signing", which is AWS Signature 4 with
another name, the bare secret key at the start of the key chain, and `request` at its end.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote

from contextfind.domain.errors import ConfigError

JSON = "application/json"
_ALGORITHM = "HMAC-SHA256"
_USUAL_PORTS = (":80", ":443")  # the other side signs without them


def now() -> datetime:
    """Return the time in UTC; the other side accepts a few minutes of difference."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class VolcengineSigner:
    """Signs POST requests with JSON bodies.

    Raises:
        ConfigError: a key that cannot be one.

    """

    access_key: str
    secret_key: str = field(repr=False)
    region: str = "cn-north-1"
    service: str = "air"
    clock: Callable[[], datetime] = now

    def __post_init__(self) -> None:
        if not all(key and key.isascii() and key.isprintable() for key in self.secrets):
            raise ConfigError("rerank.ak or rerank.sk is empty or holds characters that no key has")

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown to anybody."""
        return self.access_key, self.secret_key

    def headers(self, host: str, path: str, content: bytes) -> Mapping[str, str]:
        """Return the headers that make a request good for a few minutes from now on.

        host: as in the Host header. path: not yet quoted, from the first slash. content: the body.
        """
        moment = self.clock().astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(content).hexdigest()
        port = next((port for port in _USUAL_PORTS if host.endswith(port)), "")
        signed = {
            "content-type": JSON,
            "host": host.removesuffix(port),
            "x-content-sha256": digest,
            "x-date": moment,
        }
        names = ";".join(signed)  # in alphabetical order, as they are above
        lines = "".join(f"{name}:{value}\n" for name, value in signed.items())
        request = "\n".join(("POST", quote(path, safe="/-_.~"), "", lines, names, digest))
        day = moment[:8]
        scope = f"{day}/{self.region}/{self.service}/request"
        hashed = hashlib.sha256(request.encode()).hexdigest()
        key = self.secret_key.encode()
        for part in (day, self.region, self.service, "request"):
            key = _keyed(key, part)
        signature = _keyed(key, f"{_ALGORITHM}\n{moment}\n{scope}\n{hashed}").hex()
        return {
            "Content-Type": JSON,
            "X-Date": moment,
            "X-Content-Sha256": digest,
            "Authorization": f"{_ALGORITHM} Credential={self.access_key}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}",
        }


def _keyed(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
