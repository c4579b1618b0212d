import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from contextfind.adapters.images.reach import Reach, is_public
from contextfind.adapters.images.web import FetchRules, WebImages
from contextfind.domain.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    UnavailableError,
)
from tests.stubs.pictures import PNG, Page, PictureServer, picture_server, redirect

HERE = "127.0.0.1"


class Names:
    """A name server with answers to order; the last answer of a name stays."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): list(given) for name, given in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        del port
        self.asked.append(host)
        if host not in self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        given = self.answers[host]
        return given.pop(0) if len(given) > 1 else given[0]


@pytest.fixture
def server() -> Iterator[PictureServer]:
    with picture_server() as server:
        yield server


@pytest.fixture
def inner() -> Iterator[PictureServer]:
    """A server that nobody must ever connect to."""
    with picture_server("127.0.0.2") as server:
        yield server
        assert server.connections == 0


@pytest.fixture
async def fetching(server: PictureServer) -> AsyncIterator[WebImages]:
    """Only `server` may be reached, by the name cats.test."""
    names = Names(cats_test=[[HERE]], inner_test=[["127.0.0.2"]], mixed_test=[[HERE, "10.0.0.1"]])
    images = WebImages(
        Reach(exceptions=frozenset({(HERE, server.port)})),
        FetchRules(seconds=2, max_bytes=1_000),
        names,
    )
    yield images
    await images.aclose()


async def test_a_picture_is_fetched_with_the_name_in_its_host_header(fetching, server) -> None:
    image = await fetching.fetch(f"http://cats.test:{server.port}/cat.png#ear")
    assert (image.media_type, image.data) == ("image/png", PNG)
    assert server.visits == [("/cat.png", f"cats.test:{server.port}")]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.2:{inner}/a",
        "http://inner.test:{inner}/a",
        "http://127.0.0.1:{inner}/a",
        "http://[::ffff:127.0.0.2]:{inner}/a",
        "http://2130706434:{inner}/a",
        "http://0x7f.2:{inner}/a",
        "http://mixed.test:{server}/cat.png",
    ],
)
async def test_an_inner_address_sees_no_connection(fetching, server, inner, url) -> None:
    fetching._resolve.answers |= {
        host: [[host]] for host in ("127.0.0.1", "127.0.0.2", "::ffff:127.0.0.2")
    }
    with pytest.raises(InvalidArgumentError) as caught:
        await fetching.fetch(url.format(inner=inner.port, server=server.port))
    assert str(caught.value).startswith("image_url is 'http://")
    assert server.connections == 0


async def test_r125_a_redirect_to_an_inner_address_sees_no_connection(
    fetching, server, inner
) -> None:
    fetching._resolve.answers["127.0.0.2"] = [["127.0.0.2"]]
    targets = (f"http://127.0.0.2:{inner.port}/", f"//127.0.0.2:{inner.port}/", "git://127.0.0.2/x")
    for target in (*targets, f"http://inner.test:{inner.port}/", "file:///etc/passwd"):
        server.pages["/go"] = redirect(target)
        with pytest.raises(InvalidArgumentError):
            await fetching.fetch(f"http://cats.test:{server.port}/go")


async def test_a_name_that_changes_after_the_check_leads_nowhere_else(server, inner) -> None:
    names = Names(cats_test=[[HERE], ["127.0.0.2"]])
    images = WebImages(Reach(exceptions=frozenset({(HERE, server.port)})), FetchRules(), names)
    assert (await images.fetch(f"http://cats.test:{server.port}/cat.png")).data == PNG
    assert names.asked == ["cats.test"]
    with pytest.raises(InvalidArgumentError, match="a public address"):
        await images.fetch(f"http://cats.test:{server.port}/cat.png")
    await images.aclose()
    assert inner.connections == 0


async def test_redirects_are_followed_up_to_three(fetching, server) -> None:
    for at in range(4):
        server.pages[f"/{at}"] = redirect(f"/{at + 1}")
    server.pages["/4"] = Page()
    start = f"http://cats.test:{server.port}"
    assert (await fetching.fetch(f"{start}/1")).data == PNG
    with pytest.raises(InvalidArgumentError, match="at most 3 redirects"):
        await fetching.fetch(f"{start}/0")


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (Page(status=404), "it answered 404"),
        (Page(status=500), "it answered 500"),
        (Page(kind="text/html"), "an answer of type image/*; it is 'text/html'"),
        (Page(b"<svg/>", kind="image/svg+xml"), "these bytes are none"),
        (Page(headers={"Content-Encoding": "gzip"}), "an answer of type image/*"),
        (Page(bytes(1_001)), "at most 1000 bytes"),
        (Page(bytes(200_000), length=False), "at most 1000 bytes"),
        (Page(b"", 302), "it answered 302"),
    ],
)
async def test_an_answer_that_is_no_picture_is_refused(fetching, server, page, told) -> None:
    server.pages["/x"] = page
    with pytest.raises(InvalidArgumentError) as caught:
        await fetching.fetch(f"http://cats.test:{server.port}/x")
    assert told in str(caught.value)


async def test_the_whole_fetch_is_bounded_however_slowly_it_drips(server) -> None:
    server.pages["/slow"] = Page(drip=0.05)
    reach = Reach(exceptions=frozenset({(HERE, server.port)}))
    images = WebImages(reach, FetchRules(seconds=0.2), Names(cats_test=[[HERE]]))
    with pytest.raises(DeadlineExceededError, match=r"no picture within 0\.2 s"):
        await images.fetch(f"http://cats.test:{server.port}/slow")
    await images.aclose()


async def test_a_server_that_is_not_there_is_unavailable_and_its_address_stays_secret() -> None:
    with socket.socket() as closed:
        closed.bind((HERE, 0))
        port = closed.getsockname()[1]
        images = WebImages(
            Reach(exceptions=frozenset({(HERE, port)})), FetchRules(2), Names(cats_test=[[HERE]])
        )
        with pytest.raises(UnavailableError) as caught:
            await images.fetch(f"http://cats.test:{port}/")
    assert HERE not in str(caught.value)
    await images.aclose()


async def test_the_next_address_of_a_name_is_tried(server) -> None:
    allowed = frozenset({(HERE, server.port), ("127.0.0.3", server.port)})
    images = WebImages(Reach(exceptions=allowed), None, Names(cats_test=[["127.0.0.3", HERE]]))
    assert (await images.fetch(f"http://cats.test:{server.port}/cat.png")).data == PNG
    await images.aclose()


@pytest.mark.parametrize("host", ["nowhere.test", "a" * 64 + ".test", "-", "a..b"])
async def test_a_host_that_nobody_knows_is_an_argument_error(fetching, host) -> None:
    with pytest.raises(InvalidArgumentError):
        await fetching.fetch(f"http://{host}/")


async def test_proxies_of_the_environment_are_not_asked(server, inner, monkeypatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.2:{inner.port}")
    images = WebImages(
        Reach(exceptions=frozenset({(HERE, server.port)})), None, Names(cats_test=[[HERE]])
    )
    assert (await images.fetch(f"http://cats.test:{server.port}/cat.png")).data == PNG
    await images.aclose()


async def test_the_system_resolver_finds_the_loopback_and_it_is_refused(server) -> None:
    images = WebImages()
    for host in ("localhost", HERE, "[::1]"):
        with pytest.raises(InvalidArgumentError, match="a public address on one of the ports"):
            await images.fetch(f"http://{host}:{server.port}/cat.png")
    await images.aclose()
    assert server.connections == 0


async def test_a_cancelled_fetch_ends_at_once(fetching, server) -> None:
    server.pages["/slow"] = Page(drip=0.05)
    task = asyncio.create_task(fetching.fetch(f"http://cats.test:{server.port}/slow"))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0.1", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254",
        "172.16.0.1", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
        "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8",
        "::ffff:0:7f00:1", "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "100::1",
        "2001::1", "2001:db8::1", "2002:7f00:1::", "fc00::1", "fd12::1", "fe80::1", "fec0::1",
        "ff02::1", "ff0e::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_one_host_of_the_internet_are_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700::1111"])
def test_other_addresses_are_public_on_the_ports_of_the_web(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))
    assert Reach().allows(text, 443)
    assert not Reach().allows(text, 22)
    assert not Reach().allows(text + "%eth0", 443)
