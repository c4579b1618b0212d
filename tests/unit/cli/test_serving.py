import socket
import subprocess
import sys
from pathlib import Path

import pytest

from contextfind.cli.serving import mode_of, url_of
from contextfind.config.load import load_settings
from tests.unit.cli.calling import call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no nowhere"),
        (["--config", "no.conf"], "no configuration file no.conf"),
        (["--host", "0.0.0.0"], "server.api_key"),  # noqa: S104 - that it is refused
        (["--embedder", "openai"], "embedding.model"),
        (["--data", __file__], "no directory"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_opened(
    tmp_path: Path, words: list[str], said: str
) -> None:
    data = tmp_path / "data"
    result = call("serve", "--data", str(data), *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not data.exists()


def test_two_paths_of_one_name_are_refused(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "docs", tmp_path / "b" / "docs"]
    for path in paths:
        path.mkdir(parents=True)
    result = call("serve", *(str(path) for path in paths), "--data", str(tmp_path / "data"))
    assert result.exit_code == 2
    assert "viking://resources/docs" in result.stderr


def test_the_address_is_shown_as_a_client_types_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("key", ["server.api_key", "server.root_api_key"])
def test_the_mode_is_told_and_never_a_key(key: str) -> None:
    assert mode_of(load_settings(None, {}).settings).startswith("dev")
    told = mode_of(load_settings(None, {}, {key: "hidden"}).settings)
    assert told.startswith("api_key")
    assert "hidden" not in told


def test_starting_a_server_loads_no_library_that_only_some_files_need() -> None:
    code = "import sys, contextfind.cli.serving; print(*sys.modules)"
    loaded = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "contextfind.wiring" in loaded
    assert not {"pypdf", "docx", "bs4", "markdownify"} & set(loaded)
