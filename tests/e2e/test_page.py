"""The page at / as the server gives it; `tests/browser` walks it in a browser."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from contextfind.server.routers.page import _pages
from contextfind.server.rules import ServerRules
from tests.api.caller import app_of, calling
from tests.api.fake_house import FakeHouse

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SINKS = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser"
TEXTS = {name: data.decode() for name, data in _pages().items()}
SCRIPTS = {name: text for name, text in TEXTS.items() if name.endswith(".js")}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with calling(app_of(FakeHouse(), ServerRules(api_key="secret"))) as client:
        yield client


async def test_the_page_comes_without_a_key_and_lets_nothing_from_elsewhere_in(
    http: httpx.AsyncClient,
) -> None:
    answer = await http.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == KINDS["html"]
    policy = answer.headers.get_list("content-security-policy")
    assert len(policy) == 1
    assert "script-src 'self'; style-src 'self'" in policy[0]
    assert "unsafe" not in policy[0]
    assert (await http.head("/")).status_code == 200


@pytest.mark.parametrize("name", sorted(TEXTS))
async def test_each_file_has_its_type(http: httpx.AsyncClient, name: str) -> None:
    answer = await http.get(f"/page/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == KINDS[name.rpartition(".")[2]]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name", ["nothing.js", "..%2Fapp.py", "%2e%2e/app.py", "__init__.py", "a/b"]
)
async def test_nothing_else_is_given_away(http: httpx.AsyncClient, name: str) -> None:
    answer = await http.get(f"/page/{name}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "NOT_FOUND"


def test_everything_it_names_is_there_and_relative() -> None:
    page = TEXTS["index.html"]
    named = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert {name.removeprefix("page/") for name in named} - {"docs"} <= set(TEXTS)
    for name, text in SCRIPTS.items():
        imports = re.findall(r'from "([^"]+)"', text)
        assert [one for one in imports if one.removeprefix("./") not in SCRIPTS] == [], name


def test_it_asks_no_other_host_and_no_address_from_the_root() -> None:
    for name, text in TEXTS.items():
        without = text.replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"""https?://|["'(]//|(?:src|href)="/|\burl\(""", without) == [], name
        assert re.findall(r"""(?:call|fetch|text)\([^)]*["'`]/(?!ready)""", without) == [], name


def test_texts_never_become_markup_and_no_script_stands_inside_the_page() -> None:
    assert [name for name, text in SCRIPTS.items() if re.search(SINKS, text)] == []
    page = TEXTS["index.html"]
    assert re.findall(r"<script[^>]*>[^<]", page) == []
    assert re.findall(r"\s(?:style|on\w+)=", page) == []


def _words(name: str) -> dict[str, str]:
    return dict(re.findall(r'^  "?([\w.]+)"?: "(.*)",$', TEXTS[name], re.MULTILINE))


def test_both_languages_have_the_same_words_with_the_same_gaps() -> None:
    english, chinese = _words("words-en.js"), _words("words-zh.js")
    assert len(english) > 100
    assert set(english) == set(chinese)
    gaps = {name: sorted(re.findall(r"\{\w+\}", text)) for name, text in english.items()}
    assert {name: sorted(re.findall(r"\{\w+\}", text)) for name, text in chinese.items()} == gaps


def test_every_word_that_is_used_is_known() -> None:
    used = set(re.findall(r'data-(?:word|hint|label)="(\w+)"', TEXTS["index.html"]))
    for text in SCRIPTS.values():
        used |= set(re.findall(r'\bword\("([\w.]+)"', text))
    assert used - set(_words("words-en.js")) == set()


def test_every_word_that_is_known_is_used() -> None:
    text = "".join(text for name, text in TEXTS.items() if not name.startswith("words-"))
    families = re.compile(r"(step|task)\.|level\d")
    alone = [name for name in _words("words-en.js") if not families.match(name)]
    assert [name for name in alone if not re.search(f"[\"'`]{re.escape(name)}[\"'`]", text)] == []


def test_every_field_has_a_name_that_is_read_out() -> None:
    page = TEXTS["index.html"]
    labelled = set(re.findall(r'<label for="(\w+)"', page))
    inside = set(re.findall(r'<label[^>]*><span[^>]*>[^<]*</span>\s*<\w+ id="(\w+)"', page))
    fields = set(re.findall(r'<(?:input|textarea)[^>]* ?id="(\w+)"', page))
    assert fields - labelled - inside == set()
