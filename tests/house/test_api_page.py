"""docs/api.md has every route of the server, as the server describes it."""

import re
import shlex

import pytest

from contextfind.server.app import create_app
from tests.api.caller import app_of
from tests.api.described import Description
from tests.api.fake_house import FakeHouse
from tests.house.api_page import PAGE, render, without_answers
from tests.house.reading import code_blocks


@pytest.fixture(scope="module")
def api() -> Description:
    return Description(app_of(FakeHouse()).openapi())


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_description_says_today(api: Description, page: str) -> None:
    assert without_answers(page) == render(api.page, {}), "write it anew: make api-page"


def test_every_route_has_a_call_and_an_answer(api: Description, page: str) -> None:
    sections = dict(re.findall(r"^### (\S+ \S+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    silent = []
    for method, path, operation in api.operations():
        section = sections[f"{method.upper()} {path}"]
        assert "\ncurl " in section
        told = "application/json" not in operation["responses"]["200"]["content"]
        if not told and "```json\n" not in section:
            silent.append(path)
    assert silent == []


def test_every_call_can_be_read_by_a_shell_and_asks_a_route_that_is_there(page: str) -> None:
    paths = [re.compile(route.path_regex) for route in create_app(FakeHouse().open).routes]
    calls = [
        shlex.split(call.replace("\\\n", " "), comments=True)
        for block in code_blocks(PAGE, "bash")
        for call in re.findall(r"^curl (?:.*\\\n)*.*", block, re.MULTILINE)
    ]
    assert len(calls) == page.count("\ncurl ")
    for call in calls:
        (address,) = [word for word in call if word.startswith("$CONTEXTFIND_URL")]
        asked = address.removeprefix("$CONTEXTFIND_URL").partition("?")[0]
        assert any(path.match(asked) for path in paths), address
