"""The page in a browser: `make test-page`."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.browser.conftest import HOSTILE_NAME, HOSTILE_TEXT, KEY, Visit
from tests.processes import ServerProcess

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.slow
Visiting = Callable[..., Visit]
Picture = Callable[["Page", str], None]

CANARY = "How long does the Atlas canary run?"


def test_a_question_is_answered_with_hits_and_the_text_of_one(
    visiting: Visiting, picture: Picture
) -> None:
    visit = visiting()
    page = visit.open()
    assert visit.ask(CANARY)[0] == "release.md"
    assert "hits in" in visit.said()
    first = page.locator(".hit").first
    assert first.locator(".why").inner_text().startswith("Why: section 'Releasing Atlas")
    first.locator(".hit-title").click()
    text = first.locator("pre")
    text.wait_for()
    assert "two of forty workers" in text.inner_text()
    assert "canary" in {word.lower() for word in text.locator("mark").all_inner_texts()}
    picture(page, "page-hit")
    page.click("#request summary")
    curl = page.inner_text("#curl")
    assert curl.startswith(f"curl '{visit.url}/api/v1/search/find'")
    assert KEY not in curl


def test_filters_narrow_and_are_told_of(visiting: Visiting) -> None:
    visit = visiting()
    page = visit.open()
    visit.ask("answers")
    page.click("#filters > summary")
    page.check("input[value=memory]")
    page.check("input[name=level][value='2']")
    page.fill("#limit", "3")
    titles = visit.ask("How does Mei like her answers?")
    assert titles[0] == "answers.md"
    assert len(titles) == 3
    assert set(page.locator(".hit .badge:first-of-type").all_inner_texts()) <= {"Memories"}
    assert page.inner_text("#filters > summary") == "Filters (3 set)"
    page.click("#clear")
    page.fill("#target", "viking://resources/nowhere")
    assert visit.ask("answers") == []
    assert "Nothing fits" in visit.said()
    assert "viking://resources/nowhere" in page.inner_text("#notices")


def test_a_tag_of_a_hit_becomes_a_filter(visiting: Visiting) -> None:
    visit = visiting()
    page = visit.open()
    visit.ask(CANARY)
    with page.expect_response("**/search/find"):
        page.locator(".hit .tag", has_text="service=atlas").first.click()
    page.wait_for_selector("#hits:not([aria-busy])", state="attached")
    assert page.input_value("#tags") == "service=atlas"
    assert visit.titles()


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("#filter", "{", "The filter is no JSON"),
        ("#filter", '{"op":"nope"}', "filter.op"),
        ("#since", "soon", "since"),
        ("#target", "http://x", "http://x"),
    ],
)
def test_what_the_server_refuses_is_said(
    visiting: Visiting, field: str, value: str, told: str
) -> None:
    visit = visiting()
    page = visit.open()
    page.click("#filters > summary")
    page.fill(field, value)
    page.fill("#query", "x")
    page.press("#query", "Enter")
    page.wait_for_selector("#said.wrong")
    assert told in visit.said()


def test_nothing_asked_is_no_request(visiting: Visiting) -> None:
    visit = visiting()
    page = visit.open()
    page.press("#query", "Enter")
    assert "Type a question" in visit.said()
    assert not [url for url in visit.asked if "/search/" in url]


def test_the_walk_is_drawn(visiting: Visiting, picture: Picture) -> None:
    visit = visiting()
    page = visit.open()
    visit.ask(CANARY)
    orders = page.locator(".map .order").all_inner_texts()
    assert sorted(map(int, orders)) == list(range(1, len(orders) + 1))
    assert len(orders) >= 2
    atlas = page.locator(".map .place.opened", has_text="atlas/").first
    assert "its own text fits" in atlas.inner_text()
    leaf = page.locator(".map .hit-leaf", has_text="★1").first
    assert "release.md" in leaf.inner_text()
    parts = page.locator(".map li:has(> .hit-leaf) > .parts").first.inner_text()
    assert "meaning" in parts
    assert "words" in parts
    page.locator("#trace-title").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('trace').scrollIntoView({behavior: 'instant'})")
    picture(page, "page-trace")
    page.locator(".walk summary", has_text="Step by step").click()
    rows = page.locator(".walk tbody tr")
    assert rows.first.inner_text().startswith("opened")
    assert rows.last.inner_text().startswith("end")
    leaf.locator("a").click()
    assert page.evaluate("document.activeElement.textContent") == "release.md"


def test_a_planned_search_shows_its_plan_and_takes_a_session(visiting: Visiting) -> None:
    visit = visiting()
    page = visit.open()
    page.click("#filters > summary")
    page.check("input[value=search]")
    page.fill("#session", "talk-1")
    with page.expect_request("**/search/search") as request:
        visit.ask("canary depots")
    assert request.value.post_data_json["session_id"] == "talk-1"
    assert "canary depots" in page.inner_text("#plan")


def test_the_question_stands_in_the_address(visiting: Visiting) -> None:
    first = visiting()
    first.open()
    titles = first.ask("drain_with_backoff")
    second = visiting()
    second.page.goto(first.page.url)
    second.page.wait_for_selector(".hit")
    assert second.titles() == titles
    assert second.page.input_value("#query") == "drain_with_backoff"


def test_the_language_is_the_browsers_and_can_be_switched(
    visiting: Visiting, picture: Picture
) -> None:
    visit = visiting(locale="zh-CN")
    page = visit.open()
    assert visit.ask("数据库备份多久做一次，保留多少天？")[0] == "数据库备份.md"
    assert "条结果" in visit.said()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    picture(page, "page-chinese")
    page.click("#language")
    assert "hits in" in visit.said()
    assert page.inner_text("#ask button.main") == "Search"
    page.reload()
    page.wait_for_selector(".hit")
    assert page.evaluate("document.documentElement.lang") == "en"


def test_the_keyboard_is_enough(visiting: Visiting) -> None:
    visit = visiting()
    page = visit.open()
    page.focus("#language")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type("canary/depots")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(".hit").nth(1).locator("pre").wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".hit").nth(1).locator(".text").is_hidden()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "query"
    assert page.input_value("#query") == "canary/depots"


def test_the_tree_opens_when_asked_and_tells_all_levels(
    visiting: Visiting, picture: Picture
) -> None:
    visit = visiting()
    page = visit.open("#tree?uri=viking://resources/handbook/projects/atlas")
    page.wait_for_selector("#leaf pre")
    told = page.inner_text("#leaf")
    assert "Abstract (L0)" in told
    assert "Overview (L1)" in told
    picture(page, "page-tree")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#leaf h3:has-text('README.md')")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    atlas = page.locator("#branches button", has_text="atlas/").first
    assert atlas.get_attribute("aria-expanded") == "false"
    page.locator("#leaf a.action").click()
    page.wait_for_selector("#view-search:not([hidden])")
    assert page.input_value("#target").endswith("atlas/README.md")
    assert "wrong" not in (page.get_attribute("#said", "class") or "")


def test_a_large_directory_comes_in_pages(visiting: Visiting, server: ServerProcess) -> None:
    root = "viking://resources/large"
    files = [{"uri": f"{root}/{at:03}.md", "content": f"number {at}"} for at in range(205)]
    server.call(
        "POST",
        "/api/v1/content/batch-write",
        json={"root_uri": root, "operations": files},
        headers={"X-API-Key": KEY},
    )
    page = visiting().open(f"#tree?uri={root}")
    page.click("#branches .more button")
    leaves = page.locator(f"#branches [data-uri='{root}'] .leaf")
    page.wait_for_selector("#branches .more", state="detached")
    assert leaves.count() == 205
    assert page.evaluate("document.activeElement.textContent") == "200.md"


def test_progress_of_an_ingest_is_shown_and_can_be_ended(visiting: Visiting) -> None:
    task = {
        "task_id": "t1",
        "task_type": "add_resource",
        "status": "running",
        "stage": "embedding",
        "done": 30,
        "total": 120,
        "rate": 7.5,
        "eta_seconds": 11.2,
        "resource_id": "viking://resources/<b>handbook</b>",
        "result": None,
        "error": None,
        "created_at_iso": "2026-01-31T08:00:00Z",
    }
    visit = visiting()
    page = visit.page
    answer = {"status": "ok", "result": [task]}
    page.route("**/api/v1/tasks?*", lambda route: route.fulfill(json=answer))
    page.route("**/api/v1/tasks/t1/cancel", lambda route: route.fulfill(json=answer))
    visit.open("#tasks")
    bar = page.locator("#jobs progress")
    bar.wait_for()
    assert bar.evaluate("(one) => one.value / one.max") == 0.25
    told = page.inner_text("#jobs")
    assert "running: embedding" in told
    assert "30 / 120, 7.5 files/s, about 12 s left" in told
    assert "viking://resources/<b>handbook</b>" in told
    with page.expect_request("**/t1/cancel") as request:
        page.click("#cancel-t1")
    assert request.value.method == "POST"
    page.unroute_all(behavior="wait")


def test_a_refused_key_is_not_sent_again_by_itself(visiting: Visiting) -> None:
    visit = visiting(key="wrong")
    page = visit.page
    page.clock.install()
    visit.open("#tasks")
    page.wait_for_selector("#tasks-said:not(:empty)")
    for _ in range(100):  # a tick may come before the next look is planned
        page.clock.run_for(11_000)
        if len([url for url in visit.asked if url.endswith("/ready")]) > 3:
            break
    assert len([url for url in visit.asked if url.endswith("/ready")]) > 3
    assert len([url for url in visit.asked if "/api/v1/" in url]) == 1
    assert "The key was refused" in page.inner_text("#tasks-said")


def test_tasks_and_health_are_told(visiting: Visiting, picture: Picture) -> None:
    visit = visiting()
    page = visit.open("#tasks")
    page.wait_for_selector("#jobs li")
    assert "viking://resources/handbook" in page.inner_text("#jobs")
    assert "done" in page.inner_text("#jobs")
    page.click("[data-view=health]")
    page.wait_for_selector(".checks li")
    assert "✓ index: ok" in page.inner_text("#checks")
    page.wait_for_selector("#figures div:has-text('Index behind by')")
    assert "Files" in page.inner_text("#figures")
    assert "Ready" in page.inner_text("#state")
    picture(page, "page-health")


def test_a_wrong_key_is_said_and_another_one_helps(visiting: Visiting) -> None:
    visit = visiting(key="")
    page = visit.open()
    page.wait_for_selector("#key:visible")
    assert "needs a key" in visit.said()
    visit.ask("canary")
    assert "The key was refused" in visit.said()
    for key, outcome in (("错的", "#said.wrong"), (KEY, ".hit")):
        page.fill("#key", key)
        page.press("#key", "Enter")
        page.wait_for_selector("#key-help:has-text('from now on')")
        visit.ask("canary")
        page.wait_for_selector(outcome)
    kept = page.evaluate("[JSON.stringify(localStorage), document.cookie, location.href]")
    assert KEY not in str(kept)
    with page.expect_navigation():
        page.click("#key-forget")
    assert page.evaluate("sessionStorage.length") == 0
    assert visit.titles() == []


def test_a_server_that_is_gone_is_said_and_asked_again(visiting: Visiting) -> None:
    visit = visiting()
    page = visit.open()
    visit.ask("canary")
    page.context.set_offline(True)
    page.press("#query", "Enter")
    page.wait_for_selector("#said.wrong")
    assert "does not answer" in visit.said()
    assert visit.titles() == []
    page.context.set_offline(False)
    assert visit.ask("canary")


def test_hostile_names_and_texts_do_nothing(visiting: Visiting) -> None:
    visit = visiting()
    page = visit.open()
    assert visit.ask("zanzibar quokka")[0] == HOSTILE_NAME
    hit = page.locator(".hit").first
    hit.locator(".hit-title").click()
    hit.locator("pre").wait_for()
    assert hit.locator("pre").inner_text().strip() == HOSTILE_TEXT.strip()
    assert "mood=<b>mild</b>" in hit.inner_text()
    assert page.locator("main :is(img, script, iframe, svg, b)").count() == 0
    page.goto(f"{visit.url}/#search?query={quote('<img src=x onerror=pwned=1>')}")
    page.wait_for_selector("#said:not(:empty)")
    page.goto(f"{visit.url}/#tree?uri={quote(f'viking://resources/hostile/{HOSTILE_NAME}')}")
    page.wait_for_selector("#leaf pre")
    assert page.locator("main :is(img, script, iframe, svg, b)").count() == 0


def test_it_fits_a_narrow_screen_in_the_dark(visiting: Visiting, picture: Picture) -> None:
    visit = visiting(viewport={"width": 360, "height": 740}, color_scheme="dark")
    page = visit.open()
    visit.ask(CANARY)
    page.locator(".hit-title").first.click()
    page.locator(".hit pre").wait_for()
    for view in ("search", "tree", "tasks", "health"):
        page.click(f"[data-view={view}]")
        page.wait_for_selector(f"#view-{view}:not([hidden]) :is(.hit, .branch, .task, .ok)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(22, 24, 29)"
    page.click("[data-view=search]")
    page.wait_for_selector("#view-search:not([hidden])")
    picture(page, "page-narrow")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_everything_that_takes_the_focus_has_a_name(visiting: Visiting) -> None:
    visit = visiting()
    page = visit.open()
    visit.ask(CANARY)
    nameless = page.evaluate("""() => [...document.querySelectorAll('a, button, input, textarea, summary, progress')]
      .filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim()
        || [...(one.labels ?? [])].some((label) => label.textContent.trim())))
      .map((one) => one.outerHTML)""")
    assert nameless == []
    assert page.locator("main").count() == page.locator("h1").count() == 1
    assert page.get_attribute("#said", "aria-live") == "polite"


def test_it_works_below_a_path_of_a_proxy(visiting: Visiting, server: ServerProcess) -> None:
    visit = visiting()
    page = visit.page

    def below(route: "Route") -> None:
        url = route.request.url
        if "/context/" not in url:
            route.abort()
            return
        answer = route.fetch(url=url.replace("/context/", "/", 1))
        route.fulfill(response=answer)

    page.route("**/*", below)
    page.goto(f"{server.url}/context/")
    assert visit.ask("canary depots")[0] == "release.md"
    page.unroute_all(behavior="wait")
