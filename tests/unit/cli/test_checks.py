import json
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from contextfind.adapters.files.lock import DirectoryLock
from contextfind.cli.checks import (
    check_chats,
    check_directory,
    check_disk,
    check_lock,
    check_models,
    check_port,
    check_reranker,
    check_surroundings,
)
from contextfind.config.load import load_settings
from contextfind.config.model import Settings
from contextfind.wiring.findings import Verdict
from tests.stubs.chat import FORBIDDEN, stub_chat
from tests.stubs.reranker import stub_reranker
from tests.unit.cli.calling import call
from tests.unit.cli.stub_server import StubServer


def settings(**overrides: object) -> Settings:
    return load_settings(None, {}, {"embedding.provider": "hash", **overrides}).settings


def test_a_data_directory_that_can_be_made_is_fine_and_is_not_made(tmp_path: Path) -> None:
    finding = check_directory(tmp_path / "a" / "b")
    assert finding.verdict is Verdict.OK
    assert not (tmp_path / "a").exists()


def test_a_file_is_no_data_directory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    finding = check_directory(file)
    assert finding.verdict is Verdict.FAIL
    assert "--data" in finding.next_step


def test_data_in_use_is_a_warning(tmp_path: Path) -> None:
    assert check_lock(tmp_path).verdict is Verdict.OK
    with DirectoryLock(tmp_path):
        assert check_lock(tmp_path).verdict is Verdict.WARN
    assert check_lock(tmp_path).verdict is Verdict.OK


def test_the_free_room_is_told(tmp_path: Path) -> None:
    assert "GiB free" in check_disk(tmp_path / "not" / "there").line


def test_with_a_database_there_has_to_be_room_for_uploads_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = {"storage.backend": "postgres", "storage.dsn": "dbname=x", "server.port": 0}
    disk, port = check_surroundings(settings(**database))
    assert (disk.what, disk.verdict, port.what) == ("disk", Verdict.OK, "port")
    assert "uploads" in disk.line
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 29))
    disk, _ = check_surroundings(settings(**database))
    assert disk.verdict is Verdict.WARN
    assert "TMPDIR" in disk.next_step


def test_a_port_in_use_is_a_warning() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finding = check_port(settings(**{"server.port": port}))
    assert finding.verdict is Verdict.WARN
    assert str(port) in finding.line
    assert check_port(settings(**{"server.port": 0})).verdict is Verdict.OK


def test_an_address_of_another_machine_is_a_failure() -> None:
    overrides = {"server.host": "192.0.2.1", "server.api_key": "k"}
    assert check_port(settings(**overrides)).verdict is Verdict.FAIL


async def test_models_are_tried_for_real() -> None:
    finding = await check_models(settings())
    assert finding.verdict is Verdict.OK, finding.line
    assert finding.line.startswith("hash")


async def test_an_embedder_that_refuses_is_a_failure_with_its_reason(stub: StubServer) -> None:
    stub.answer("POST", "/v1/embeddings", {"error": {"message": "bad\nkey"}}, status=401)
    remote = {"provider": "openai", "model": "m", "api_base": f"{stub.url}/v1"}
    overrides = {f"embedding.{name}": value for name, value in remote.items()}
    finding = await check_models(settings(**overrides))
    assert finding.verdict is Verdict.FAIL
    assert finding.line.startswith("m: ")
    assert "bad key" in finding.line


async def test_a_reranker_is_asked_to_judge_where_there_is_one() -> None:
    assert await check_reranker(settings()) == []
    with stub_reranker() as stub:
        keys = {"provider": "openai", "model": "judge", "api_base": stub.base_url}
        overrides = {f"rerank.{name}": value for name, value in keys.items()}
        (finding,) = await check_reranker(settings(**overrides))
        assert (finding.verdict, finding.line) == (Verdict.OK, "judge: a text was judged")
        stub.key = "another"
        (finding,) = await check_reranker(settings(**overrides))
        assert finding.verdict is Verdict.FAIL
        assert "answered 401: invalid key" in finding.line


async def test_each_language_model_is_asked_for_a_word() -> None:
    assert await check_chats(settings()) == []
    with stub_chat() as stub:
        vlm = {"vlm.model": "writer", "vlm.api_base": stub.base_url, "vlm.api_key": "sk-key"}
        (finding,) = await check_chats(settings(**vlm))
        assert (finding.verdict, finding.line) == (Verdict.OK, "writer: answered")
        stub.always = FORBIDDEN
        both = await check_chats(settings(**vlm, **{"query_planner.model": "planner"}))
        assert [one.verdict for one in both] == [Verdict.FAIL, Verdict.FAIL]
        assert [one.line.partition(":")[0] for one in both] == ["writer", "planner"]
        assert "answered 403: this key may not" in both[1].line
        assert both[1].next_step == "look at query_planner in ov.conf"
        assert stub.calls == 3


def test_doctor_names_a_wrong_configuration_and_ends_with_one(tmp_path: Path) -> None:
    result = call("doctor", "--data", str(tmp_path), env={"CONTEXTFIND_PORT": "many"})
    assert result.exit_code == 1
    assert result.stdout.startswith("fail config")
    assert "many" in result.stdout
    told = call("doctor", "--json", env={"CONTEXTFIND_PORT": "many"}).stdout
    assert json.loads(told)[0]["verdict"] == "fail"
