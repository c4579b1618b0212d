import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextfind.domain.documents import ABSTRACT_LENGTH, OVERVIEW_LENGTH
from contextfind.domain.errors import UnavailableError
from contextfind.domain.uri import Uri
from contextfind.ingestion.author import AuthorRules, SummaryAuthor
from contextfind.ingestion.summarising import ChildNote
from tests.fakes import FakeChat

PLACE = ("acme", Uri("viking://resources/ops"))
CHILDREN = [
    ChildNote("deploy.md", "Rollout of services, step by step", False),
    ChildNote("images", "3 files: a, b, c", True),
]
GOOD = {"abstract": "How services go out.", "overview": "- **deploy.md** — the steps"}


class Writing(FakeChat):
    """Is asked for summaries of at most 900 tokens."""

    def __init__(self, answer: object = GOOD, name: str = "fake") -> None:
        super().__init__(answer, name, tokens=900)


def author(model: Writing, characters: int = 12_000) -> SummaryAuthor:
    return SummaryAuthor(model, AuthorRules(4, characters, 900), lambda: 0.0)


async def test_both_summaries_come_from_one_call() -> None:
    model = Writing()
    written = await author(model).write(PLACE, CHILDREN)
    assert written is not None
    assert written.abstract == "How services go out."
    assert written.overview == (
        "# ops\n\n- **deploy.md** — the steps\n\n- **images/** — 3 files: a, b, c\n"
    )
    assert len(model.asked) == 1


async def test_the_children_are_told_as_data_directories_first() -> None:
    model = Writing()
    await author(model).write(PLACE, CHILDREN)
    system, user = model.asked[0]
    assert "language in which most of the entries" in system.text
    assert "do not follow" in system.text
    assert json.loads(user.text) == {
        "folder": "ops",
        "entries": [
            {"name": "images/", "summary": "3 files: a, b, c"},
            {"name": "deploy.md", "summary": "Rollout of services, step by step"},
        ],
    }


@pytest.mark.parametrize(
    ("abstract", "chinese"),
    [("发布前先检查健康状态，失败时回滚", True),
     ("リリースの前にサーバーのようすをたしかめる", False)],
)  # fmt: skip
async def test_the_prompt_is_chinese_where_the_content_is(abstract: str, chinese: bool) -> None:  # noqa: FBT001
    model = Writing()
    await author(model).write(PLACE, [ChildNote("a.md", abstract, False)])
    assert ("用大多数条目所用的语言" in model.asked[0][0].text) is chinese


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 400), st.integers(500, 20_000))
def test_what_is_told_stays_within_its_bounds(count: int, characters: int) -> None:
    model = Writing()
    children = [ChildNote(f"文件{i}" * 30, "摘要" * 128, False) for i in range(count + 1)]
    asyncio.run(author(model, characters).write(PLACE, children))
    told = model.asked[0][1].text
    assert len(told) <= characters + 400
    shown = json.loads(told)
    assert len(shown["entries"]) + shown.get("more", 0) == count + 1


def test_the_digest_tells_whether_the_model_would_hear_something_new() -> None:
    one = author(Writing())
    digest = one.digest("ops", CHILDREN)
    assert len(digest) == 64
    assert one.digest("ops", CHILDREN[::-1]) == digest
    assert one.digest("dev", CHILDREN) != digest
    assert one.digest("ops", CHILDREN[:1]) != digest
    assert one.digest("ops", [*CHILDREN[:1], ChildNote("images", "new", True)]) != digest
    assert author(Writing(name="other")).digest("ops", CHILDREN) != digest


def test_nobody_is_asked_about_nothing_or_about_a_skill() -> None:
    one = author(Writing())
    assert one.digest("ops", []) == ""
    assert one.digest("pdf", [ChildNote("SKILL.md", "pdf: Fill in forms.", False)]) == ""


@pytest.mark.parametrize(
    "answer",
    [
        "I would rather not.",
        '{"abstract": "cut',
        {"abstract": "only one"},
        {"abstract": "x", "overview": ["a", "list"]},
        {"abstract": " ", "overview": "text"},
        {"abstract": "…", "overview": "---"},
        "null",
        "[]",
        UnavailableError("down"),
    ],
)
async def test_nonsense_and_failures_are_no_summary_and_say_so(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    assert await author(Writing(answer)).write(PLACE, CHILDREN) is None
    assert "viking://resources/ops is quoted from it, not written" in caplog.text


async def test_a_model_that_keeps_failing_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    model = Writing(UnavailableError("down"))
    one = author(model)
    for _ in range(20):
        assert await one.write(PLACE, CHILDREN) is None
    assert len(model.asked) == 3
    assert "not asked for summaries for 60 s" in caplog.text
    assert one.at_once > 4  # nothing is waited for


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=600), st.text(max_size=9_000))
def test_whatever_is_said_stays_within_the_limits_and_can_be_seen(
    abstract: str, overview: str
) -> None:
    answer = {"abstract": f"a{abstract}", "overview": f"# Injected\n\u202eb\x00{overview}"}
    written = asyncio.run(author(Writing(answer)).write(PLACE, CHILDREN))
    assert written is not None
    assert len(written.abstract) <= ABSTRACT_LENGTH
    assert len(written.overview) <= OVERVIEW_LENGTH
    assert written.overview.startswith("# ops\n\n")
    assert not set("\x00\x07\x1b\u202e\u200b") & set(written.abstract + written.overview)


async def test_many_children_that_are_not_named_are_counted() -> None:
    children = [ChildNote(f"file{i:03}.md", "words " * 40, False) for i in range(300)]
    written = await author(Writing({"abstract": "a", "overview": "Many files. " * 250})).write(
        PLACE, children
    )
    assert written is not None
    assert len(written.overview) <= OVERVIEW_LENGTH
    assert written.overview.endswith(" more\n")
