import contextlib
import json
from pathlib import Path

import pytest

from contextfind.config.load import NO_FILE, load_settings
from contextfind.config.model import Settings, is_loopback
from contextfind.domain.errors import ConfigError

ROOT = Path(__file__).parents[3]


def written(folder: Path, content: object, name: str = "ov.conf") -> str:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return str(file)


def complaint(folder: Path, content: object, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(written(folder, content), environ or {})
    return str(caught.value)


def test_nothing_given_means_the_defaults(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        loaded = load_settings(None, {"HOME": str(tmp_path)})
    assert loaded.settings == Settings()
    assert loaded.source == NO_FILE
    assert loaded.ignored_sections == ()
    assert (loaded.settings.server.host, loaded.settings.server.port) == ("127.0.0.1", 1933)
    assert loaded.settings.embedding.provider == "local"


def test_the_environment_of_the_process_is_not_looked_at(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        assert load_settings(None, {}).source == NO_FILE


def test_the_first_file_of_the_order_is_read(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path / "home")}
    here = tmp_path / "here"
    here.mkdir()

    def port() -> int:
        with contextlib.chdir(here):
            return load_settings(None, environ).settings.server.port

    written(tmp_path, {"server": {"port": 1}}, "home/.contextfind/ov.conf")
    assert port() == 1
    written(here, {"server": {"port": 2}})
    assert port() == 2
    environ["OPENVIKING_CONFIG_FILE"] = written(tmp_path, {"server": {"port": 3}}, "third")
    assert port() == 3
    environ["CONTEXTFIND_CONFIG"] = written(tmp_path, {"server": {"port": 4}}, "fourth")
    assert port() == 4
    explicit = written(tmp_path, {"server": {"port": 5}}, "fifth")
    assert load_settings(explicit, environ).settings.server.port == 5
    assert load_settings(explicit, environ).source == explicit


@pytest.mark.parametrize("variable", ["CONTEXTFIND_CONFIG", "OPENVIKING_CONFIG_FILE"])
def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path, variable: str) -> None:
    gone = str(tmp_path / "gone.conf")
    for path, environ in ((gone, {}), (None, {variable: gone})):
        with pytest.raises(ConfigError, match=r"no configuration file .*gone\.conf"):
            load_settings(path, environ)


def test_the_environment_beats_the_file_and_overrides_beat_both(tmp_path: Path) -> None:
    file = written(
        tmp_path, {"server": {"port": 1, "host": "localhost"}, "log": {"level": "error"}}
    )
    environ = {"CONTEXTFIND_SERVER__PORT": "2", "CONTEXTFIND_LOG__LEVEL": "DEBUG"}
    settings = load_settings(file, environ, {"server.port": 3, "server.host": None}).settings
    assert (settings.server.port, settings.server.host) == (3, "localhost")
    assert settings.log.level == "debug"


def test_shortcuts_stand_for_their_keys() -> None:
    environ = {
        "CONTEXTFIND_API_KEY": "one",
        "CONTEXTFIND_ROOT_API_KEY": "two",
        "CONTEXTFIND_HOST": "0.0.0.0",  # noqa: S104 - what is tested
        "CONTEXTFIND_PORT": "8080",
        "CONTEXTFIND_DATA": "/srv/data",
        "CONTEXTFIND_URL": "http://a-client-setting",
    }
    settings = load_settings(None, environ).settings
    server = settings.server
    assert (server.api_key, server.root_api_key, server.port) == ("one", "two", 8080)
    assert settings.storage.path == "/srv/data"


def test_an_empty_variable_says_nothing() -> None:
    environ = {"CONTEXTFIND_PORT": "", "CONTEXTFIND_EMBEDDING__MODEL": ""}
    assert load_settings(None, environ).settings == Settings()


def test_lists_and_objects_can_come_from_the_environment() -> None:
    environ = {
        "CONTEXTFIND_SERVER__ALLOWED_PATHS": "/a, /b",
        "CONTEXTFIND_SERVER__CORS_ORIGINS": '["https://x"]',
        "CONTEXTFIND_EMBEDDING__QUERY_FIELDS": '{"input_type": "query"}',
    }
    settings = load_settings(None, environ).settings
    assert settings.server.allowed_paths == ("/a", "/b")
    assert settings.server.cors_origins == ("https://x",)
    assert settings.embedding.query_fields == {"input_type": "query"}
    with pytest.raises(ConfigError, match="CONTEXTFIND_EMBEDDING__QUERY_FIELDS is no JSON"):
        load_settings(None, {"CONTEXTFIND_EMBEDDING__QUERY_FIELDS": "{"})


def test_a_file_of_the_older_layout_starts(tmp_path: Path) -> None:
    content = {
        "server": {"host": "127.0.0.1", "port": 1933, "root_api_key": None, "workers": 1},
        "storage": {"workspace": "./data", "vectordb": {"backend": "local"}},
        "embedding": {
            "dense": {
                "provider": "volcengine",
                "model": "doubao-embedding",
                "api_base": "https://ark.example/api/v3",
                "api_key": "$ARK_KEY",
                "dimension": 1024,
                "input": "multimodal",
            },
            "max_concurrent": 10,
        },
        "vlm": {"provider": "volcengine", "model": "chat", "thinking": False},
        "rerank": {"model_name": "rerank", "ak": "a", "sk": "s", "threshold": 0.1},
        "log": {"level": "WARN", "format": "%(asctime)s - %(message)s", "output": "stdout"},
        "parsers": {"pdf": {}},
        "auto_generate_l0": True,
    }
    loaded = load_settings(written(tmp_path, content), {"ARK_KEY": "secret"})
    settings = loaded.settings
    assert settings.storage.path == "./data"
    assert settings.embedding.provider == "openai"
    assert settings.embedding.api_key == "secret"
    assert (settings.embedding.dimension, settings.embedding.concurrency) == (1024, 10)
    assert settings.rerank.model == "rerank"
    assert settings.log.level == "warning"
    assert set(loaded.ignored_sections) == {
        "server.workers",
        "storage.vectordb",
        "embedding.input",
        "vlm.thinking",
        "rerank.threshold",
        "log.output",
        "parsers",
        "auto_generate_l0",
    }


def test_a_slip_in_a_section_name_is_an_error(tmp_path: Path) -> None:
    said = complaint(tmp_path, {"embeding": {"provider": "local"}})
    assert "'embeding'" in said
    assert "'embedding'" in said


def test_a_slip_in_a_key_names_path_value_and_the_right_one(tmp_path: Path) -> None:
    said = complaint(tmp_path, {"embedding": {"dense": {"dimensoin": 1024}}})
    assert "embedding.dimensoin" in said
    assert "embedding.dense.dimensoin" in said
    assert "1024" in said
    assert "did you mean 'dimension'?" in said


def test_a_key_that_is_like_none_lists_what_is_allowed(tmp_path: Path) -> None:
    said = complaint(tmp_path, {"log": {"colour": "red"}})
    assert "log.colour" in said
    assert "allowed are level, format" in said


def test_a_slip_in_a_lenient_section_is_an_error_too(tmp_path: Path) -> None:
    assert "did you mean 'api_base'" in complaint(tmp_path, {"vlm": {"api_bse": "http://x"}})


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ({"server": {"port": 70_000}}, ("server.port is 70000", "from 0 to 65,535")),
        ({"server": {"port": "high"}}, ("server.port is 'high'", "whole number")),
        ({"server": {"port": True, "host": 7}}, ("server.host is 7", "text")),
        ({"retrieval": {"meaning_weight": 1.5}}, ("1.5", "number from 0 to 1")),
        ({"retrieval": {"batch": 0}}, ("retrieval.batch is 0", "from 1 to 64")),
        ({"embedding": {"provider": "cohere"}}, ("'cohere'", "`local` or `openai` or `hash`")),
        ({"embedding": {"api_base": "localhost:80"}}, ("'localhost:80'", "http(s) address")),
        ({"embedding": {"provider": "openai"}}, ("embedding.model is missing",)),
        ({"embedding": {"model": "m"}}, ("embedding.provider to 'openai'",)),
        ({"embedding": {"accepts_images": True}}, ("embedding.accepts_images is true", "'local'")),
        ({"embedding": {"calibration_floor": 0.5}}, ("go together",)),
        ({"ingestion": {"passage_target": 2_000}}, ("passage_longest",)),
        ({"log": {"level": "loud"}}, ("'loud'", "`debug` or `info`")),
        ({"server": {"allowed_paths": "/a"}}, ("server.allowed_paths is '/a'", "list of texts")),
        ({"server": []}, ("server is []", "object")),
        ({"storage": {"path": "a", "workspace": "b"}}, ("storage.path", "storage.workspace")),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    tmp_path: Path, content: object, parts: tuple[str, ...]
) -> None:
    said = complaint(tmp_path, content)
    assert all(part in said for part in parts), said


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    said = complaint(tmp_path, {"server": {"port": -1}, "log": {"level": "loud"}})
    assert "server.port" in said
    assert "log.level" in said


def test_the_origin_of_a_wrong_value_is_told(tmp_path: Path) -> None:
    said = complaint(tmp_path, {"server": {"port": 1}}, {"CONTEXTFIND_PORT": "many"})
    assert "given as CONTEXTFIND_PORT" in said


def test_a_variable_for_no_section_is_an_error() -> None:
    for name in (
        "CONTEXTFIND_EMBEDING__MODEL",
        "CONTEXTFIND_SERVER__X__PORT",
        "CONTEXTFIND__SERVER",
        "CONTEXTFIND__",
    ):
        with pytest.raises(ConfigError, match=name):
            load_settings(None, {name: "x"})
    with pytest.raises(ConfigError, match="CONTEXTFIND_SERVER__PROT"):
        load_settings(None, {"CONTEXTFIND_SERVER__PROT": "x"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"server": {\n  "port": }\n}', "line 2, column 11"),
        ("[]", "no JSON object"),
        ("", "line 1, column 1"),
        ("[" * 100_000, "nested too deeply"),
        ('{"server": {"port": %s}}' % ("9" * 5_000), "is no JSON: "),
    ],
)
def test_a_file_that_is_no_json_object_is_told_with_its_place(
    tmp_path: Path, text: str, said: str
) -> None:
    message = complaint(tmp_path, text)
    assert said in message
    assert "ov.conf" in message


def test_a_complaint_about_half_a_character_can_be_printed(tmp_path: Path) -> None:
    message = complaint(tmp_path, '{"server": {"p\\ud800rt": 1}}')
    assert "server.p\\ud800rt" in message
    with pytest.raises(ConfigError) as caught:
        load_settings(None, {"CONTEXTFIND_SERVER__P\udcffRT": "x"})  # as Linux gives odd bytes
    str(caught.value).encode()


def test_a_byte_order_mark_is_no_error_and_latin1_is(tmp_path: Path) -> None:
    file = tmp_path / "ov.conf"
    file.write_bytes(b"\xef\xbb\xbf{}")
    assert load_settings(str(file), {}).settings == Settings()
    file.write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(str(file), {})
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(str(tmp_path), {})


@pytest.mark.parametrize("spelling", ["$MY_KEY", "${MY_KEY}"])
def test_a_secret_is_taken_from_the_variable_it_names(tmp_path: Path, spelling: str) -> None:
    content = {"server": {"api_key": spelling}}
    assert load_settings(written(tmp_path, content), {"MY_KEY": "k"}).settings.server.api_key == "k"
    assert "MY_KEY" in complaint(tmp_path, content)


def test_no_secret_is_shown(tmp_path: Path) -> None:
    said = complaint(tmp_path, {"server": {"api_key": 123456}, "embedding": {"api_keey": "sk-1"}})
    assert "sk-1" not in said
    said = complaint(tmp_path, {"server": {"api_key": 123456}})
    assert "123456" not in said
    settings = load_settings(None, {"CONTEXTFIND_API_KEY": "sk-123"}).settings
    assert "sk-123" not in repr(settings)


def test_an_open_address_needs_a_key(tmp_path: Path) -> None:
    everywhere = {"host": "0.0.0.0"}  # noqa: S104 - what is tested
    said = complaint(tmp_path, {"server": everywhere})
    assert "CONTEXTFIND_API_KEY" in said
    assert "127.0.0.1" in said
    for key in ("api_key", "root_api_key"):
        load_settings(written(tmp_path, {"server": everywhere | {key: "k"}}), {})


def test_two_keys_are_not_the_same_one(tmp_path: Path) -> None:
    said = complaint(tmp_path, {"server": {"api_key": "s3cr3t", "root_api_key": "s3cr3t"}})
    assert "server.api_key and server.root_api_key are the same key" in said
    assert "s3cr3t" not in said
    for apart in ({"api_key": "a", "root_api_key": "b"}, {"api_key": "", "root_api_key": ""}):
        load_settings(written(tmp_path, {"server": apart}), {})


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("example.org", False),
        ("192.168.1.1", False),
    ],
)
def test_loopback_is_this_machine_alone(host: str, alone: bool) -> None:  # noqa: FBT001
    assert is_loopback(host) is alone


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().server.port = 1


def test_the_example_loads_and_says_the_defaults() -> None:
    loaded = load_settings(str(ROOT / "ov.conf.example"), {})
    assert loaded.ignored_sections == ()
    settings = loaded.settings
    assert settings.model_copy(update={"vlm": Settings().vlm}) == Settings()
    assert settings.vlm.model == ""


def test_a_file_that_may_be_missing_counts_as_empty_and_no_other_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ov.conf").write_text('{"server": {"port": 7}}', encoding="utf-8")
    environ = {"HOME": str(tmp_path), "CONTEXTFIND_LOG__LEVEL": "error"}
    loaded = load_settings("other.conf", environ, {"storage.path": "d"}, optional=True)
    assert loaded.source == "defaults"
    assert (loaded.settings.server.port, loaded.settings.log.level) == (1933, "error")
    assert loaded.settings.storage.path == "d"
    assert load_settings("ov.conf", environ, optional=True).settings.server.port == 7
    with pytest.raises(ConfigError, match=r"no configuration file other\.conf"):
        load_settings("other.conf", environ)
