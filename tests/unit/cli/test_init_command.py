"""`contextfind init`: what is found, asked, written, tried and said next."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from contextfind.cli.init_survey import PROVIDERS, Model, ollama_address, survey
from contextfind.config.load import load_settings
from tests.stubs.embedder import StubEmbedder
from tests.unit.cli.calling import call

SECRET = "sk-never-to-be-seen"
NOBODY = "127.0.0.1:9"  # nothing listens there
MODELS = [
    {"name": "bge-m3:latest", "details": {"family": "bert"}},
    {"name": "qwen3:4b", "details": {"family": "qwen3"}},
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ollama() -> Iterator[StubEmbedder]:
    stub = StubEmbedder()
    stub._server.RequestHandlerClass = listing_models(stub._server.RequestHandlerClass)
    yield stub
    stub.close()


def listing_models(handler: Any) -> Any:
    class Ollama(handler):
        def do_GET(self) -> None:  # noqa: N802 - called so by http.server
            body = json.dumps({"models": MODELS}).encode()
            self.send_response(200 if self.path == "/api/tags" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Ollama


def begin(*words: str, ollama: str = NOBODY, answers: str = "", **env: str | None) -> Result:
    cleared: dict[str, str | None] = {provider.key_name: None for provider in PROVIDERS}
    cleared |= {"OPENAI_BASE_URL": None, "OLLAMA_HOST": ollama} | env
    return call("init", *words, input=answers, env=cleared)


def written(where: Path) -> Any:
    return json.loads((where / "ov.conf").read_text("utf-8"))


def test_enter_all_the_way_and_yes_write_the_same_and_send_nothing_away(here: Path) -> None:
    asked = begin("--no-doctor", answers="\n" * 9, OPENAI_API_KEY=SECRET, JINA_API_KEY=SECRET)
    assert asked.exit_code == 0, asked.output
    first = written(here)
    assert first == {"storage": {"path": "./contextfind-data"}, "embedding": {"provider": "local"}}
    assert begin("--yes", "--force", "--no-doctor", OPENAI_API_KEY=SECRET).exit_code == 0
    assert written(here) == first


def test_a_key_is_written_as_its_name_and_shown_nowhere(here: Path) -> None:
    done = begin("--no-doctor", answers="2\n2\n2\n/srv/data\ny\n", **_keys())
    assert done.exit_code == 0, done.output
    assert SECRET not in (here / "ov.conf").read_text("utf-8") + done.output
    said = written(here)
    assert said["embedding"] == {
        "provider": "openai",
        "model": "text-embedding-3-small",
        "api_base": "https://api.openai.com/v1",
        "api_key": "$OPENAI_API_KEY",
    }
    assert said["vlm"]["api_key"] == "$OPENAI_API_KEY"
    assert said["rerank"]["provider"] == "jina"
    assert said["server"] == {"host": "0.0.0.0"}  # noqa: S104
    assert "openssl rand" in done.output  # a key for the server, before it lets others in
    loaded = load_settings("ov.conf", {**_keys(), "CONTEXTFIND_API_KEY": "k" * 32})
    assert loaded.settings.embedding.api_key == SECRET


def _keys() -> dict[str, str]:
    return {"OPENAI_API_KEY": SECRET, "JINA_API_KEY": SECRET}


def test_a_wrong_number_is_asked_again(here: Path) -> None:
    done = begin("--no-doctor", answers="9\n2\n\n\n\n", OPENAI_API_KEY=SECRET)
    assert done.exit_code == 0, done.output
    assert "from 1 to 2" in done.output
    assert written(here)["embedding"]["provider"] == "openai"


def test_the_models_of_ollama_are_found_written_and_tried(here: Path, ollama) -> None:
    address = ollama.root_url.removeprefix("http://")
    done = begin("--yes", "--embedder", "ollama/bge-m3", ollama=address)
    assert done.exit_code == 0, done.output
    assert written(here)["embedding"] == {
        "provider": "openai",
        "model": "bge-m3:latest",
        "api_base": ollama.base_url,
    }
    assert "bge-m3:latest: a text was written, embedded and found" in done.output
    assert ollama.requests
    assert "contextfind calibrate" in done.output
    assert "contextfind serve ./docs" in done.output


def test_what_fails_when_tried_is_said_and_ends_with_1(here: Path, ollama) -> None:
    address = ollama.root_url.removeprefix("http://")
    done = begin(
        "--yes", "--chat", "ollama/qwen3:4b", "--embedder", "ollama/bge-m3", ollama=address
    )
    assert done.exit_code == 1  # the stub embeds and knows no chat
    assert "mend what failed" in done.output
    assert written(here)["vlm"]["model"] == "qwen3:4b"


def test_ollama_is_asked_for_what_its_models_are_for(ollama) -> None:
    found = survey({"OLLAMA_HOST": ollama.root_url})
    assert found.of("embedding") == [
        Model("embedding", "ollama/bge-m3", "bge-m3:latest", ollama.base_url, here=True)
    ]
    assert [model.label for model in found.of("vlm")] == ["ollama/qwen3:4b"]


def test_a_file_that_is_there_is_kept_unless_forced_and_even_then(here: Path) -> None:
    (here / "ov.conf").write_text("{}", "utf-8")
    refused = begin("--yes", "--no-doctor")
    assert refused.exit_code == 2
    assert "--force" in refused.output
    assert (here / "ov.conf").read_text("utf-8") == "{}"
    assert begin("--yes", "--no-doctor", "--force").exit_code == 0
    assert (here / "ov.conf.old").read_text("utf-8") == "{}"
    assert "storage" in written(here)


def test_without_answers_nothing_is_written(here: Path) -> None:
    done = begin("--no-doctor")
    assert done.exit_code == 1
    assert "--yes" in done.output
    assert not (here / "ov.conf").exists()


def test_a_model_that_is_not_there_is_refused_with_those_that_are(here: Path) -> None:
    done = begin("--yes", "--no-doctor", "--embedder", "ollama/none")
    assert done.exit_code == 2
    assert "there are local" in done.output
    assert not (here / "ov.conf").exists()


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("https://models.example", "https://models.example:11434"),
        ("gpu:nonsense", "http://gpu:11434"),
    ],
)
def test_ollama_is_looked_for_where_its_own_variable_says(told: str, address: str) -> None:
    assert ollama_address({"OLLAMA_HOST": told}) == address
