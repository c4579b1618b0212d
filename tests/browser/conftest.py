"""A server with the demo's trees and hostile texts, and a page of it in headless Chromium."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.demo import PLACES, TREE
from examples.serving import Api, zip_of_folder
from tests.processes import ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

KEY = "page-key"
PATIENCE = 30_000.0  # milliseconds; a loaded machine lays a page out slowly
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOSTILE_NAME = '"><img src=x onerror=pwned=1>.md'
HOSTILE_TEXT = (
    "# <img src=x onerror=pwned=1> zanzibar\n\n<script>pwned=1</script> zanzibar quokka\n\n"
    '[zanzibar](javascript:pwned=1) <svg onload="pwned=1"></svg> </pre><iframe srcdoc="x"></iframe>\n'
)


def _browser_path() -> str:
    named = os.environ.get("CONTEXTFIND_TEST_BROWSER", "")
    found = [path for name in BROWSERS if (path := shutil.which(name)) is not None]
    return named or (found[0] if found else "")


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Headless Chromium; skips where there is no driver or no browser."""
    driver = pytest.importorskip("playwright.sync_api", reason="no driver: pip install playwright")
    path = _browser_path()
    if not path:
        pytest.skip("no browser: apt-get install chromium, or set CONTEXTFIND_TEST_BROWSER")
    with driver.sync_playwright() as play:
        # No sandbox: containers forbid it to root, and only this server's page is opened.
        started = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def server(
    browser: "Browser",  # noqa: ARG001 - no server where there is no browser
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ServerProcess]:
    """A server that needs a key, with English, Chinese and hostile texts."""
    with ServerProcess(tmp_path_factory.mktemp("page")) as process:
        process.start({"CONTEXTFIND_API_KEY": KEY})
        process.wait_healthy()
        with Api(process.url, KEY) as api:
            for name, place in PLACES.items():
                api.add(zip_of_folder(TREE / name), place, lambda _: None)
            api.call(
                "POST",
                "/api/v1/content/write",
                json={
                    "uri": f"viking://resources/hostile/{HOSTILE_NAME}",
                    "content": HOSTILE_TEXT,
                    "tags": ["mood=<b>mild</b>"],
                    "wait": True,
                },
            )
        yield process


@dataclass
class Visit:
    """A page that is open, and what it did: hosts it asked, errors it told."""

    page: "Page"
    url: str
    asked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, rest: str = "") -> "Page":
        self.page.goto(f"{self.url}/{rest}")
        return self.page

    def ask(self, question: str) -> list[str]:
        """Type a question, press Enter, and return the titles of the hits."""
        self.page.fill("#query", question)
        with self.page.expect_response("**/api/v1/search/*"):
            self.page.press("#query", "Enter")
        self.page.wait_for_selector("#hits:not([aria-busy])", state="attached")
        return self.titles()

    def titles(self) -> list[str]:
        return self.page.locator(".hit-title").all_inner_texts()

    def said(self) -> str:
        return self.page.inner_text("#said")


@pytest.fixture
def visiting(browser: "Browser", server: ServerProcess) -> Iterator[Callable[..., Visit]]:
    """Open visits: a context of its own each, with a key, in a language, of a width."""
    with ExitStack() as stack:
        visits: list[Visit] = []

        def visit(*, key: str = KEY, **options: Any) -> Visit:
            settings = {"locale": "en-GB", "viewport": {"width": 1000, "height": 720}, **options}
            context = browser.new_context(**settings)
            stack.callback(context.close)
            context.set_default_timeout(PATIENCE)
            if key:
                context.add_init_script(f"sessionStorage.setItem('contextfind.key', '{key}')")
            made = Visit(context.new_page(), server.url)
            made.page.on("request", lambda request: _note(made, request))
            made.page.on("pageerror", lambda error: made.errors.append(str(error)))
            made.page.on(
                "console",
                lambda told: (
                    made.errors.append(told.text)
                    if told.type == "error" and "Failed to load" not in told.text
                    else None
                ),
            )
            visits.append(made)
            return made

        yield visit
        for made in visits:
            assert made.errors == []
            assert [url for url in made.asked if not url.startswith(server.url)] == []
            assert made.page.evaluate("window.pwned") is None


def _note(visit: Visit, request: "Request") -> None:
    visit.asked.append(request.url)


@pytest.fixture
def picture() -> Callable[["Page", str], None]:
    """Take a picture into the folder named by CONTEXTFIND_TEST_PICTURES, if any."""
    folder = os.environ.get("CONTEXTFIND_TEST_PICTURES", "")

    def take(page: "Page", name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=Path(folder) / f"{name}.png")

    return take
