import base64

import pytest

from contextfind.domain.errors import InvalidArgumentError, InvalidUriError
from contextfind.domain.images import (
    MAX_IMAGE_BYTES,
    MAX_URL_LENGTH,
    InlineImage,
    RemoteImage,
    StoredImage,
    image_of,
    parse_image_url,
)
from contextfind.domain.uri import Uri

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)


def inline(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("kind", ["png", "jpeg", "jpg", "gif", "webp", "bmp", "PNG"])
def test_a_data_address_is_decoded(kind: str) -> None:
    assert parse_image_url(inline(PNG, f"image/{kind}")) == InlineImage(PNG)


def test_scheme_and_parameters_are_read_as_the_standard_says() -> None:
    encoded = base64.b64encode(PNG).decode()
    assert parse_image_url(f"DATA:image/png;name=a.png;BASE64,{encoded}") == InlineImage(PNG)


def test_an_address_of_the_tree_is_expanded_and_may_hold_spaces() -> None:
    assert parse_image_url("viking://~/resources/my cat.png", "ann") == StoredImage(
        Uri("viking://user/ann/resources/my cat.png")
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a.png",
        "HTTPS://example.org:8443/a?b=c%20d#e",
        "http://192.0.2.1/",
        "http://[2001:db8::1]/a",
        "https://xn--bcher-kva.example/",
    ],
)
def test_an_address_on_the_web_is_kept_as_it_is(url: str) -> None:
    assert parse_image_url(url) == RemoteImage(url)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (" ", "expected http(s)://…, viking://… or data:image/…;base64,…"),
        (" viking://resources/a.png", "white space"),
        ("viking://resources/a.png ", "white space"),
        ("ftp://example.org/a.png", "expected http(s)://…"),
        ("file:///etc/passwd", "expected http(s)://…"),
        ("a.png", "expected http(s)://…"),
        ("javascript:alert(1)", "expected http(s)://…"),
        ("data:image/png;base64", "expected data:image/TYPE;base64,…"),
        ("data:image/png,abc", "expected data:image/TYPE;base64,…"),
        ("data:text/plain;base64,aGk=", "expected data:image/TYPE;base64,…"),
        ("data:image/svg+xml;base64,aGk=", "expected data:image/TYPE;base64,…"),
        ("data:;base64,aGk=", "expected data:image/TYPE;base64,…"),
        ("data:image/png;base64,", "expected a picture after the comma"),
        ("data:image/png;base64,AA", "expected base64"),
        ("data:image/png;base64,AA A=", "expected base64"),
        ("data:image/png;base64,AAA=\n", "expected base64"),
        ("data:image/png;base64,AA_-", "expected base64"),
        ("data:image/png;base64,%41AA=", "expected base64"),
        ("data:image/png;base64,AA==AA==", "expected base64"),
        ("data:image/png;base64,\ud800", "expected base64"),
        ("http:///a.png", "expected http(s)://HOST/…"),
        ("http://a b/c.png", "without white space"),
        ("http://a/b\x00", "without white space"),
        ("http://example.org:99999/", "expected a valid http(s) address"),
        ("http://[::1/", "expected a valid http(s) address"),
        ("http://example.org\\@127.0.0.1/", "without user name, password and backslash"),
        ("http://2130706433/", "a plain IP address"),
        ("http://017700000001/", "a plain IP address"),
        ("http://0x7f000001/", "a plain IP address"),
        ("http://0177.0.0.1/", "a plain IP address"),
        ("http://127.1/", "a plain IP address"),
        ("http://127.0.0.0x1/", "a plain IP address"),
        ("http://1.2.3.4.5/", "a plain IP address"),
        ("http://127.1./", "a plain IP address"),
        ("http://[fe80::1%25eth0]/", "a plain IP address"),
        ("http://bücher.example/", "a host name in ASCII"),
        ("http://①②⑦.0.0.1/", "a host name in ASCII"),
        ("http://example.org/" + "a" * MAX_URL_LENGTH, "at most 2048 characters"),
    ],
)
def test_anything_else_is_refused_with_what_is_expected(sent: str, told: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_image_url(sent)
    message = str(caught.value)
    assert message.startswith("image_url is '")
    assert told in message
    assert len(message) < 400
    assert caught.value.details["field"] == "image_url"


def test_credentials_are_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_image_url("http://me:secret@example.org/")
    assert "secret" not in str(caught.value)


def test_a_tree_address_that_is_none_names_the_field() -> None:
    with pytest.raises(InvalidUriError, match=r"^image_url: address .*dotted segment"):
        parse_image_url("viking://resources/../a.png")


def test_what_is_too_large_is_refused_before_it_is_decoded_and_shown_shortened() -> None:
    sent = "data:image/png;base64," + "A" * (MAX_IMAGE_BYTES * 4 // 3 + 8)
    with pytest.raises(InvalidArgumentError, match=f"at most {MAX_IMAGE_BYTES} bytes") as caught:
        parse_image_url(sent)
    assert len(str(caught.value)) < 300


def test_the_largest_picture_passes() -> None:
    data = PNG + bytes(MAX_IMAGE_BYTES - len(PNG))
    assert parse_image_url(inline(data)) == InlineImage(data)
    assert image_of(data, "x").media_type == "image/png"
    with pytest.raises(InvalidArgumentError, match="at most"):
        image_of(data + b"1", "x")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"GIF87a..", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"BM....", "image/bmp"),
    ],
)
def test_the_bytes_decide_the_type(data: bytes, kind: str) -> None:
    assert image_of(data, "x").media_type == kind


@pytest.mark.parametrize("data", [b"", b"RIFF\x00\x00\x00\x00WAVE", b"<svg/>", b"%PDF-1.7"])
def test_bytes_that_are_no_picture_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="these bytes are none"):
        image_of(data, "data:image/…")
