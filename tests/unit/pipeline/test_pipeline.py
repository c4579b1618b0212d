"""The pipeline on the real house: real files, the real HTTP of a stub for the model."""

import asyncio
import gc
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from contextfind.answering.answerer import NO_MODEL, NOTHING_FOUND
from contextfind.domain.errors import (
    ConfigError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from contextfind.pipeline import AsyncRAGQueryPipeline, RAGQueryPipeline
from tests.repositories import make_bare, make_repository
from tests.schemas import ON_POSTGRES, directory_only
from tests.stubs.chat import BROKEN, EMPTY, FORBIDDEN, HANG, StubChat, Turn
from tests.unit.pipeline.desk import TREE, Desk

KEYS = ["question", "contexts", "answer", "retrieved_uris"]
HERON = "viking://resources/docs/heron.md"
MakeDesk = Callable[..., Desk]


def test_the_documented_use_from_documents_to_a_cited_answer(
    desk: MakeDesk, chat: StubChat
) -> None:
    desk(chat)
    pipeline = RAGQueryPipeline(config_path="./ov.conf", data_path="./data")
    added = pipeline.add_documents(["./docs/kettle.md", "./docs/heron.md"], wait=True, timeout=300)
    result = pipeline.query("Where does the heron sleep?", top_k=5, generate_answer=True)
    pipeline.close()
    assert added == ["viking://resources/kettle.md", "viking://resources/heron.md"]
    assert list(result) == KEYS
    assert result["question"] == "Where does the heron sleep?"
    assert result["retrieved_uris"][0] == "viking://resources/heron.md"
    assert result["contexts"][0] == TREE["docs/heron.md"]
    assert result["answer"] == "By the river [1].\n\n[1] viking://resources/heron.md"
    assert len(result["contexts"]) == len(result["retrieved_uris"]) == 2


def test_it_works_without_any_configuration_in_an_empty_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CONTEXTFIND_EMBEDDING__PROVIDER", "hash")
    with RAGQueryPipeline() as pipeline:
        assert not (tmp_path / "data").exists()
        assert pipeline.query("heron") == {
            "question": "heron",
            "contexts": [],
            "answer": NOTHING_FOUND,
            "retrieved_uris": [],
        }
        assert ON_POSTGRES or (tmp_path / "data/contextfind.db").exists()


def test_without_a_chat_model_the_answer_says_so(desk: MakeDesk) -> None:
    at = desk()
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        assert pipeline.add_documents(at.docs) == ["viking://resources/docs"]
        result = pipeline.query("heron", 1)
        assert (list(result), result["answer"]) == (KEYS, NO_MODEL)
        assert result["retrieved_uris"] == [HERON]
        assert pipeline.query("heron", 1, generate_answer=False)["answer"] == ""


def test_a_blank_question_among_others_is_told_of_in_its_answer(desk: MakeDesk) -> None:
    at = desk()
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        assert pipeline.query(" ") == {
            "question": " ",
            "contexts": [],
            "answer": "The question is blank; expected a text.",
            "retrieved_uris": [],
        }


def test_a_second_opening_finds_what_the_first_one_added(desk: MakeDesk) -> None:
    at = desk()
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        pipeline.add_documents(at.docs)
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        assert pipeline.query("heron", 1)["retrieved_uris"] == [HERON]


def test_what_is_not_waited_for_is_found_when_it_is_there(desk: MakeDesk) -> None:
    at = desk()
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        assert pipeline.add_documents([at.docs], wait=False) == ["viking://resources/docs"]
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        pipeline.add_documents([at.docs])
        assert pipeline.query("heron", 1)["retrieved_uris"] == [HERON]


def test_documents_around_the_data_leave_the_data_out(desk: MakeDesk) -> None:
    at = desk()
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        pipeline.add_documents(".", parent="viking://resources/all")
        found = pipeline.query("heron", 100)["retrieved_uris"]
    assert f"viking://resources/all/{at.folder.name}/docs/heron.md" in found
    assert not [uri for uri in found if "/data/" in uri]


@pytest.mark.parametrize("turn", [BROKEN, EMPTY, FORBIDDEN, HANG, Turn(raw=b"<html>")])
def test_a_model_that_fails_is_told_of_in_the_answer(
    desk: MakeDesk, chat: StubChat, turn: Turn
) -> None:
    at = desk(chat, 0.5)
    chat.always = turn
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        pipeline.add_documents(at.docs)
        result = pipeline.query("heron", 1)
    assert list(result) == KEYS
    assert result["answer"].startswith("No answer was written: ")
    assert "sk-secret" not in result["answer"]
    assert (result["contexts"], result["retrieved_uris"]) == ([TREE["docs/heron.md"]], [HERON])


def test_R142_one_of_three_answers_fails_and_all_have_four_keys(  # noqa: N802 - a case
    desk: MakeDesk, chat: StubChat
) -> None:
    at = desk(chat, 0.5)
    chat.always = lambda asked: BROKEN if "kettle is?" in asked.prompt else Turn("So [1].")
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        pipeline.add_documents(at.docs)
        asked = ("where the heron sleeps?", "where the kettle is?", "如何回滚？")
        results = [pipeline.query(question, 1) for question in asked]
    assert [list(result) for result in results] == [KEYS] * 3
    assert results[0]["answer"] == f"So [1].\n\n[1] {HERON}"
    assert results[1]["answer"].startswith("No answer was written: ")
    assert results[2]["answer"].endswith("[1] viking://resources/docs/ops/回滚.md")
    assert all(json.loads(json.dumps(result, allow_nan=False)) == result for result in results)


def test_an_embedder_that_is_down_at_the_start_is_told_of_in_the_answer(
    desk: MakeDesk, chat: StubChat
) -> None:
    at = desk()
    settings = {"embedding": {"provider": "openai", "model": "m", "api_base": chat.base_url}}
    at.config.write_text(json.dumps(settings))
    chat.always = FORBIDDEN
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        result = pipeline.query("heron")
        assert list(result) == KEYS
        assert result["answer"].startswith("The data cannot be opened: ")
        with pytest.raises(UnavailableError):
            pipeline.add_documents(at.docs)


@directory_only  # it has a lock
def test_a_directory_in_use_gives_the_houses_own_error(desk: MakeDesk) -> None:
    at = desk()
    with RAGQueryPipeline(at.config, at.data) as first:
        first.query("heron")
        with (
            RAGQueryPipeline(at.config, at.data) as second,
            pytest.raises(FailedPreconditionError, match="is in use by the process"),
        ):
            second.query("heron")
        first.query("heron")


def test_a_wrong_configuration_is_raised_and_named(desk: MakeDesk) -> None:
    at = desk()
    at.config.write_text('{"embedding": {"provider": "nobody"}}')
    with (
        RAGQueryPipeline(at.config, at.data) as pipeline,
        pytest.raises(ConfigError, match=r"embedding\.provider"),
    ):
        pipeline.query("heron")


def test_a_missing_configuration_means_defaults_and_is_noted(
    desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk()
    monkeypatch.setenv("CONTEXTFIND_EMBEDDING__PROVIDER", "hash")
    with caplog.at_level(logging.INFO), RAGQueryPipeline("./none.conf", at.data) as pipeline:
        pipeline.query("heron")
    assert "there is no configuration file none.conf" in caplog.text


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda one: one.query("q", 0), InvalidArgumentError, "top_k"),
        (lambda one: one.add_documents("gone"), NotFoundError, "gone"),
        (lambda one: one.add_documents("docs", parent="docs"), InvalidArgumentError, "viking://"),
        (lambda one: one.add_code_repos("ext::sh"), InvalidArgumentError, "run programs"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_opened(
    desk: MakeDesk,
    call: Callable[[RAGQueryPipeline], object],
    error: type[Exception],
    words: str,
) -> None:
    at = desk()
    with RAGQueryPipeline(at.config, at.data) as pipeline, pytest.raises(error, match=words):
        call(pipeline)
    assert not at.data.exists()


def test_after_the_end_calls_are_refused_and_the_end_may_come_twice(desk: MakeDesk) -> None:
    at = desk()
    before = threading.active_count()
    pipeline = RAGQueryPipeline(at.config, at.data)
    pipeline.query("heron")
    pipeline.close()
    pipeline.close()
    with pytest.raises(FailedPreconditionError, match="is closed"):
        pipeline.query("heron")
    assert threading.active_count() == before


def test_a_pipeline_that_was_never_used_opens_and_leaves_nothing(desk: MakeDesk) -> None:
    at = desk()
    before = threading.active_count()
    with RAGQueryPipeline(at.config, at.data):
        assert threading.active_count() == before
    assert not at.data.exists()


def test_a_forgotten_pipeline_lets_go_of_the_directory(desk: MakeDesk) -> None:
    at = desk()
    pipeline = RAGQueryPipeline(at.config, at.data)
    pipeline.query("heron")
    pipeline = RAGQueryPipeline(at.config, at.data)  # as a notebook does that runs a cell again
    gc.collect()
    assert pipeline.query("heron")["answer"] == NOTHING_FOUND
    pipeline.close()


async def test_R032_the_blocking_one_works_inside_a_running_loop(  # noqa: N802 - a case
    desk: MakeDesk, chat: StubChat
) -> None:
    at = desk(chat)
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        pipeline.add_documents(at.docs)
        assert pipeline.query("heron", 1)["retrieved_uris"] == [HERON]
        asked = (asyncio.to_thread(pipeline.query, f"heron {n}", 1) for n in range(10))
        async with asyncio.timeout(30):
            results = await asyncio.gather(*asked)
    assert [result["retrieved_uris"] for result in results] == [[HERON]] * 10


async def test_R032_ten_queries_of_the_asynchronous_one_side_by_side(  # noqa: N802 - a case
    desk: MakeDesk, chat: StubChat
) -> None:
    at = desk(chat)
    async with AsyncRAGQueryPipeline(at.config, at.data) as pipeline:
        added = await asyncio.gather(*(pipeline.add_documents(at.docs) for _ in range(3)))
        assert added == [["viking://resources/docs"]] * 3
        async with asyncio.timeout(30):
            results = await asyncio.gather(*(pipeline.query("heron", 1) for _ in range(10)))
    assert all(list(result) == KEYS for result in results)
    assert {result["answer"] for result in results} == {f"By the river [1].\n\n[1] {HERON}"}


async def test_a_cancelled_query_leaves_the_pipeline_usable(desk: MakeDesk, chat: StubChat) -> None:
    at = desk(chat)
    async with AsyncRAGQueryPipeline(at.config, at.data) as pipeline:
        await pipeline.add_documents(at.docs)
        chat.turns.append(HANG)
        task = asyncio.create_task(pipeline.query("heron", 1))
        assert await asyncio.to_thread(chat.asked.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await pipeline.query("heron", 1))["answer"].startswith("By the river")


def test_an_asynchronous_one_belongs_to_one_loop(desk: MakeDesk) -> None:
    at = desk()
    pipeline = AsyncRAGQueryPipeline(at.config, at.data)

    async def ask_and_close() -> None:
        await pipeline.query("heron")
        with pytest.raises(FailedPreconditionError, match="another event loop"):
            await asyncio.to_thread(asyncio.run, pipeline.query("heron"))
        await pipeline.close()
        with pytest.raises(FailedPreconditionError, match="is closed"):
            await pipeline.query("heron")

    asyncio.run(ask_and_close())


def test_too_little_time_is_said_and_the_work_goes_on(desk: MakeDesk) -> None:
    at = desk()
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        with pytest.raises(DeadlineExceededError, match="the work goes on"):
            pipeline.add_documents(at.docs, timeout=0.0)
        pipeline.add_documents(at.docs)
        assert pipeline.query("heron", 1)["retrieved_uris"] == [HERON]


def test_an_end_in_the_middle_of_a_query_leaves_nobody_waiting(
    desk: MakeDesk, chat: StubChat
) -> None:
    at = desk(chat, 60.0)
    pipeline = RAGQueryPipeline(at.config, at.data)
    pipeline.add_documents(at.docs)
    chat.always = HANG
    with ThreadPoolExecutor(1) as another:
        asked = another.submit(pipeline.query, "heron", 1)
        assert chat.asked.wait(60)
        pipeline.close()
        assert isinstance(asked.exception(30), CancelledError) or list(asked.result()) == KEYS


def test_what_is_not_taken_in_is_named_in_the_log(
    desk: MakeDesk, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk()
    (at.folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with RAGQueryPipeline(at.config, at.data) as pipeline:
        pipeline.add_documents("picture.png")
    assert "viking://resources/picture.png: nothing of it was taken in" in caplog.text


class TestRepositories:
    def test_a_file_address_and_a_bare_repository_are_cloned(self, desk: MakeDesk) -> None:
        at = desk()
        code = make_repository(
            at.folder / "wren",
            {"wren.py": "def sing():\n    '''The wren sings.'''\n", ".gitignore": "*.log\n"},
        )
        (code / "draft.md").write_text("A wren that was never committed.")
        bare = make_bare(at.folder / "robin.git", code)
        with RAGQueryPipeline(at.config, at.data) as pipeline:
            added = pipeline.add_code_repos([code.as_uri(), bare])
            assert added == ["viking://resources/wren", "viking://resources/robin"]
            found = pipeline.query("wren sings", 10)["retrieved_uris"]
        assert (
            "viking://resources/robin/wren.py" in found
            or "viking://resources/wren/wren.py" in found
        )
        assert not [uri for uri in found if "draft" in uri or ".git" in uri]

    def test_a_directory_is_taken_as_it_lies_there(self, desk: MakeDesk) -> None:
        at = desk()
        code = make_repository(at.folder / "wren", {"wren.py": "song = 1\n", ".gitignore": "*.log"})
        (code / "draft.md").write_text("A wren that was never committed.")
        (code / "wren.log").write_text("A wren in a log.")
        with RAGQueryPipeline(at.config, at.data) as pipeline:
            assert pipeline.add_code_repos(str(code)) == ["viking://resources/wren"]
            found = pipeline.query("wren", 10)["retrieved_uris"]
        assert "viking://resources/wren/draft.md" in found
        assert not [uri for uri in found if uri.endswith(".log") or ".git" in uri]

    def test_adding_again_brings_what_is_new_and_drops_what_is_gone(self, desk: MakeDesk) -> None:
        at = desk()
        first = make_repository(at.folder / "a/wren", {"old.md": "The wren of old."})
        second = make_repository(at.folder / "b/wren", {"new.md": "The wren of today."})
        with RAGQueryPipeline(at.config, at.data) as pipeline:
            pipeline.add_code_repos(first.as_uri(), wait=False)
            pipeline.add_code_repos(second.as_uri())
            found = pipeline.query("wren", 10)["retrieved_uris"]
        assert found == ["viking://resources/wren/new.md"]

    def test_one_that_is_not_read_in_time_is_given_up_and_can_be_added_again(
        self, desk: MakeDesk
    ) -> None:
        at = desk()
        code = make_repository(at.folder / "wren", {f"{n}.md": f"Wren {n}." for n in range(300)})
        with RAGQueryPipeline(at.config, at.data) as pipeline:
            with pytest.raises(DeadlineExceededError):
                pipeline.add_code_repos(code.as_uri(), timeout=0.05)
            pipeline.add_code_repos(code.as_uri(), timeout=None)
            found = pipeline.query("wren 7", 100)["retrieved_uris"]
        assert len(found) == 100

    def test_one_that_cannot_be_cloned_is_said_and_leaves_no_files(
        self, desk: MakeDesk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        at = desk()
        scratch = at.folder / "scratch"
        scratch.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(scratch))
        with (
            RAGQueryPipeline(at.config, at.data) as pipeline,
            pytest.raises(UnavailableError, match="git could not clone file://"),
        ):
            pipeline.add_code_repos((at.folder / "gone").as_uri())
        left = {path.name for path in scratch.iterdir()}
        assert left == (
            {f"contextfind-uploads-{os.getuid()}"} if ON_POSTGRES else set()
        )  # the spool, kept


def test_a_process_ends_by_itself_when_a_pipeline_was_left_open(desk: MakeDesk) -> None:
    at = desk()
    code = (
        "from contextfind.pipeline import RAGQueryPipeline\n"
        "pipeline = RAGQueryPipeline()\n"
        "pipeline.add_documents('docs', wait=False)\n"
        "print(pipeline.query('heron')['question'])\n"
    )
    ran = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", code],
        cwd=at.folder, check=True, capture_output=True, timeout=60, text=True,
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("heron\n", "")
