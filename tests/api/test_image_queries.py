"""Finds with `image_url`, before real houses: one that takes text only, one that takes pictures."""

import base64
import json
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from contextfind.config.model import EmbeddingSettings, Settings
from contextfind.server.app import create_app
from contextfind.wiring import House
from tests.api.caller import FIND, calling, error_of, result_of
from tests.backends import storage_in
from tests.stubs.embedder import Fault, StubEmbedder, stub_embedder
from tests.stubs.pictures import PNG, picture_server

CAT = "viking://resources/cat.md"
DOG = "viking://resources/dog.md"
IMAGE = "data:image/png;base64," + base64.b64encode(PNG).decode()


async def written(http: httpx.AsyncClient, uri: str, content: str) -> None:
    body = {"uri": uri, "content": content, "wait": True}
    result_of(await http.post("/api/v1/content/write", json=body))


@pytest.fixture
async def blind(tmp_path) -> AsyncIterator[httpx.AsyncClient]:
    """A house whose embedder takes text only."""
    settings = Settings(
        storage=storage_in(tmp_path / "blind"),
        embedding=EmbeddingSettings(provider="hash"),
    )
    async with calling(create_app(lambda: House.open(settings))) as http:
        yield http


@pytest.fixture
def stub() -> Iterator[StubEmbedder]:
    with stub_embedder(32) as stub:
        yield stub


@pytest.fixture
async def seeing(tmp_path, stub) -> AsyncIterator[httpx.AsyncClient]:
    """A house with a multimodal embedder; a note about cats lies exactly where the picture does."""
    settings = Settings(
        storage=storage_in(tmp_path / "seeing"),
        embedding=EmbeddingSettings(
            provider="openai", model="clip", api_base=stub.base_url, accepts_images=True
        ),
    )
    async with calling(create_app(lambda: House.open(settings))) as http:
        await written(http, CAT, "Cats sleep all day.")
        await written(http, DOG, "Dogs guard the house.")
        await written(http, "viking://user/default/memories/pet.md", "Cats sleep all day.")
        notes = [text for one in stub.requests for text in one.texts if "Cats sleep" in text]
        stub.same[json.dumps({"image": IMAGE})] = notes[0]
        yield http


def pictures_sent(stub: StubEmbedder) -> list[str]:
    return [text for one in stub.requests for text in one.texts if text.startswith("{")]


def hits_of(response: httpx.Response) -> list[tuple[str, int]]:
    result = result_of(response)
    hits = result["memories"] + result["resources"] + result["skills"]
    return [(hit["uri"], hit["level"]) for hit in hits]


@pytest.mark.parametrize("query", ["", "cats"])
@pytest.mark.parametrize("image", [IMAGE, "https://example.org/a.png", CAT])
async def test_r141_a_text_only_embedder_refuses_pictures_with_and_without_text(
    blind, query, image
) -> None:
    await written(blind, CAT, "Cats sleep all day.")
    response = await blind.post(FIND, json={"query": query, "image_url": image})
    error = error_of(response, 400, "INVALID_ARGUMENT")
    assert "takes text only" in error["message"]
    assert "embedding.accepts_images" in error["message"]
    assert error["details"]["validation_errors"][0]["loc"] == ["body", "image_url"]


@pytest.mark.parametrize("absent", [None, ""])
async def test_an_absent_picture_changes_nothing(blind, absent) -> None:
    await written(blind, CAT, "Cats sleep all day.")
    assert hits_of(await blind.post(FIND, json={"query": "cats", "image_url": absent, "level": 2}))
    response = await blind.post(FIND, json={"query": "", "image_url": absent})
    error_of(response, 400, "INVALID_ARGUMENT")


async def test_a_picture_finds_files_of_resources_by_its_vector(seeing) -> None:
    hits = hits_of(await seeing.post(FIND, json={"image_url": IMAGE}))
    assert hits[0] == (CAT, 2)
    assert {level for _, level in hits} == {2}
    assert all(uri.startswith("viking://resources/") for uri, _ in hits)


async def test_level_and_context_type_say_otherwise(seeing) -> None:
    body = {"image_url": IMAGE, "level": [0, 1]}
    assert {level for _, level in hits_of(await seeing.post(FIND, json=body))} == {0, 1}
    body = {"image_url": IMAGE, "context_type": "memory"}
    hits = hits_of(await seeing.post(FIND, json=body))
    assert hits == [("viking://user/default/memories/pet.md", 2)]


async def test_text_and_picture_count_alike(seeing) -> None:
    """Each alone puts another file first; together both beat what fits neither."""
    await written(seeing, "viking://resources/fish.md", "Fish swim in the sea.")
    answer = await seeing.post(FIND, json={"image_url": IMAGE, "query": "guard the house"})
    hits = [uri for uri, _ in hits_of(answer)]
    assert set(hits[:2]) == {CAT, DOG}


@pytest.mark.parametrize("query", ["", "cats"])
async def test_without_its_vector_a_picture_gets_no_answer(seeing, stub, query) -> None:
    stub.always = Fault(status=400, reason="no pictures here")
    response = await seeing.post(FIND, json={"image_url": IMAGE, "query": query})
    error_of(response, 503, "UNAVAILABLE")


@pytest.mark.parametrize(
    ("image", "status", "code", "told"),
    [
        ("data:image/png;base64,aGVsbG8=", 400, "INVALID_ARGUMENT", "these bytes are none"),
        (CAT, 400, "INVALID_ARGUMENT", "image_url is 'viking://resources/cat.md'"),
        ("viking://resources/none.png", 404, "NOT_FOUND", "no file is stored"),
        ("viking://user/eve/resources/a.png", 403, "PERMISSION_DENIED", "another user's tree"),
        ("viking://bogus/a.png", 400, "INVALID_URI", "image_url: address"),
    ],
)
async def test_what_is_no_picture_of_the_callers_is_refused(
    seeing, stub, image, status, code, told
) -> None:
    error = error_of(await seeing.post(FIND, json={"image_url": image}), status, code)
    assert told in error["message"]
    assert pictures_sent(stub) == []


async def test_r125_the_server_never_connects_to_its_own_machine(seeing, stub) -> None:
    hosts = ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "[::ffff:7f00:1]")  # noqa: S104
    with picture_server() as inner:
        for host in hosts:
            body = {"image_url": f"http://{host}:{inner.port}/cat.png"}
            error_of(await seeing.post(FIND, json=body), 400, "INVALID_ARGUMENT")
        assert inner.connections == 0
    assert pictures_sent(stub) == []


@pytest.mark.parametrize("query", ["", "guard the house"])
async def test_a_picture_cannot_be_searched_while_the_embedder_is_down(seeing, stub, query) -> None:
    stub.always = Fault(status=401, reason="who are you")
    answer = await seeing.post(FIND, json={"image_url": IMAGE, "query": query})
    error = error_of(answer, 503, "UNAVAILABLE")
    assert error["message"].startswith("a picture is searched by its meaning alone")
    assert "answered 401: who are you" in error["message"]
    assert error["details"]["retryable"] is False
