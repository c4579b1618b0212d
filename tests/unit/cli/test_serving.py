import socket
import subprocess
import sys
from pathlib import Path

import pytest

from contextfind.cli.serving import mode_of, short_keys, url_of
from contextfind.config.load import load_settings
from contextfind.config.model import ServerSettings
from tests.schemas import directory_only
from tests.unit.cli.calling import call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no nowhere"),
        (["--config", "no.conf"], "no configuration file no.conf"),
        (["--host", "0.0.0.0"], "server.api_key"),  # noqa: S104 - that it is refused
        (["--embedder", "openai"], "embedding.model"),
        pytest.param(["--data", __file__], "no directory", marks=directory_only),
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


@pytest.mark.parametrize(
    ("family", "host"),
    [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")],  # noqa: S104 - how it is shown
)
def test_every_address_is_shown_as_one_that_can_be_asked(
    family: socket.AddressFamily, host: str
) -> None:
    with socket.socket(family) as listener:
        try:
            listener.bind((host, 0))
        except OSError as error:
            pytest.skip(f"nothing can listen on {host} here: {error}")
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


SHORT, LONG = "fifteen-letters", "sixteen-letters-"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])  # noqa: S104
@pytest.mark.parametrize(
    ("api_key", "root_api_key", "named"),
    [
        (SHORT, "", "server.api_key is shorter"),
        ("", SHORT, "warning: server.root_api_key is shorter"),
        (LONG, SHORT, "warning: server.root_api_key is shorter"),
        (SHORT, "short", "server.api_key and server.root_api_key are shorter"),
    ],
)
def test_a_short_key_that_others_can_guess_is_warned_of_and_not_shown(
    host: str, api_key: str, root_api_key: str, named: str
) -> None:
    said = short_keys(ServerSettings(host=host, api_key=api_key, root_api_key=root_api_key))
    assert named in said
    assert "\n" not in said
    assert SHORT not in said
    assert LONG not in said


@pytest.mark.parametrize(
    "server",
    [
        ServerSettings(),
        ServerSettings(api_key=SHORT),
        ServerSettings(host="::1", root_api_key=SHORT),
        ServerSettings(host="0.0.0.0", api_key=LONG),  # noqa: S104 - nothing listens
    ],
)
def test_what_nobody_can_guess_is_not_warned_of(server: ServerSettings) -> None:
    assert short_keys(server) == ""


def test_the_warning_is_one_line_at_start() -> None:
    words = ("--host", "192.0.2.1", "--data", __file__)  # stops after the settings were read
    said = [
        call("serve", *words, env={"CONTEXTFIND_API_KEY": key}).stderr.splitlines()
        for key in (SHORT, LONG)
    ]
    assert [len(lines) for lines in said] == [2, 1]
    assert said[0][0].startswith("warning: server.api_key is shorter than 16 characters")
    assert SHORT not in "".join(said[0])


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
