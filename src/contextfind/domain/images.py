"""Pictures as queries: what `image_url` may say, and which bytes are a picture."""

import binascii
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from contextfind.domain.errors import InvalidArgumentError, InvalidUriError
from contextfind.domain.uri import SCHEME, Uri

MAX_IMAGE_BYTES = 10 * 1024 * 1024  # of the picture itself; models scale down far smaller ones
MAX_URL_LENGTH = 2_048
MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")

_SHOWN = 80  # characters of a wrong value that a message repeats
_DATA = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),", re.IGNORECASE)
_EMPTY = re.compile(r"[\s\x00-\x1f\x7f]")
_NUMERIC_LABEL = re.compile(r"\d+|0x[0-9a-f]*", re.IGNORECASE)
_BASE64_OVERHEAD = 4 / 3
_KINDS = ", ".join(kind.removeprefix("image/") for kind in MEDIA_TYPES)


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: one of `MEDIA_TYPES` and its bytes, which start as that type does."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class InlineImage:
    """A picture that came with the request; not looked into yet."""

    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class RemoteImage:
    """A picture somewhere on the web: `http(s)://` without credentials."""

    url: str


@dataclass(frozen=True, slots=True)
class StoredImage:
    """A picture in the tree."""

    uri: Uri


ImageSource = InlineImage | RemoteImage | StoredImage


def parse_image_url(text: str, user: str | None = None) -> ImageSource:
    """Return what an `image_url` names; nothing is read or fetched.

    Raises:
        InvalidArgumentError: another scheme, no base64, no picture's type, too large, white space.
        InvalidUriError: `viking://…` that is no address.

    """
    head = text[: len(SCHEME)].lower()
    if text.startswith(SCHEME) and text == text.strip():
        return StoredImage(_address(text, user))
    if head.startswith("data:"):
        return InlineImage(_inline(text))
    if head.startswith(("http://", "https://")):
        check_remote(text)
        return RemoteImage(text)
    raise wrong_image(
        text, "http(s)://…, viking://… or data:image/…;base64,… without white space around it"
    )


def check_remote(url: str) -> None:
    """Refuse an address on the web that cannot be one of a public picture, by its spelling alone.

    Raises:
        InvalidArgumentError: credentials, no host, a host in numbers other than a plain IP address.

    """
    if _EMPTY.search(url):
        raise wrong_image(url, "an address without white space")
    if len(url) > MAX_URL_LENGTH:
        raise wrong_image(url, f"at most {MAX_URL_LENGTH} characters")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise wrong_image(url, "a valid http(s) address") from None
    if parts.scheme not in ("http", "https") or not host:
        raise wrong_image(url, "http(s)://HOST/…")
    if "@" in parts.netloc or "\\" in url:
        raise wrong_image("http(s)://…@…", "an address without user name, password and backslash")
    if not _is_plain_host(host):
        raise wrong_image(
            url,
            "a host name in ASCII (punycode for others) or a plain IP address such as 192.0.2.1",
        )


def image_of(data: bytes, shown: str) -> Image:
    """Return bytes as a picture; the bytes decide its type, not what anybody called it.

    shown: how a message may name where they came from.

    Raises:
        InvalidArgumentError: too large, or no picture of a known type.

    """
    if len(data) > MAX_IMAGE_BYTES:
        raise wrong_image(shown, f"a picture of at most {MAX_IMAGE_BYTES} bytes")
    media_type = _sniffed(data)
    if media_type is None:
        raise wrong_image(shown, f"a picture ({_KINDS}); these bytes are none")
    return Image(media_type, data)


def wrong_image(value: str, expected: str) -> InvalidArgumentError:
    """Return the error for an `image_url`: its value, cut, and what was expected."""
    text = repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")
    return InvalidArgumentError(
        f"image_url is {text}; expected {expected}", {"field": "image_url", "value": text}
    )


def _address(text: str, user: str | None) -> Uri:
    try:
        return Uri.parse(text, user)
    except InvalidUriError as error:
        raise InvalidUriError(
            f"image_url: {error}", {**error.details, "field": "image_url"}
        ) from None


def _inline(text: str) -> bytes:
    found = _DATA.match(text)
    expected = f"data:image/TYPE;base64,… with one of the types {_KINDS}"
    if found is None:
        raise wrong_image(text, expected)
    media_type = found[1].lower().replace("image/jpg", "image/jpeg")
    if media_type not in MEDIA_TYPES or not found[2].lower().endswith(";base64"):
        raise wrong_image(text, expected)
    if len(text) - found.end() > MAX_IMAGE_BYTES * _BASE64_OVERHEAD + 4:
        raise wrong_image(text, f"a picture of at most {MAX_IMAGE_BYTES} bytes")
    try:
        data = binascii.a2b_base64(text[found.end() :].encode("ascii"), strict_mode=True)
    except (UnicodeEncodeError, binascii.Error):
        raise wrong_image(
            text, "base64 after the comma: A-Z a-z 0-9 + / with = at its end, no white space"
        ) from None
    if not data:
        raise wrong_image(text, "a picture after the comma")
    return data


def _is_plain_host(host: str) -> bool:
    """Whether a host is a name or an address as everybody spells it.

    Resolvers also take 2130706433, 0x7f.1 and 0177.0.0.1 for addresses; nobody means well by these.
    """
    if not host.isascii() or "%" in host:
        return False
    last = host.rstrip(".").rpartition(".")[2]
    if ":" not in host and not _NUMERIC_LABEL.fullmatch(last):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _sniffed(data: bytes) -> str | None:
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    for start, media_type in _STARTS:
        if data.startswith(start):
            return media_type
    return None


_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
