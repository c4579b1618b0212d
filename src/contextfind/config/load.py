"""Finding ov.conf and making `Settings` of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from contextfind.config.complaints import config_error
from contextfind.config.layers import (
    Given,
    Layer,
    environment_layer,
    file_layer,
    override_layer,
)
from contextfind.config.model import Settings
from contextfind.domain.errors import ConfigError

NAMED_BY = ("CONTEXTFIND_CONFIG", "OPENVIKING_CONFIG_FILE")
HERE = Path("ov.conf")
AT_HOME = Path(".contextfind") / "ov.conf"
NO_FILE = "defaults"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, the file they came from (or `defaults`), and what in it has no meaning here."""

    settings: Settings
    source: str
    ignored_sections: tuple[str, ...]


def load_settings(
    path: str | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
    *,
    optional: bool = False,
) -> Loaded:
    """Read the first ov.conf there is; the environment, then `overrides`, have the last word.

    path: this file and no other. Without it: the one that CONTEXTFIND_CONFIG or
        OPENVIKING_CONFIG_FILE names, ./ov.conf, ~/.contextfind/ov.conf, none.
    overrides: by dotted path (`server.port`); None says nothing.
    optional: a `path` where nothing is counts as an empty file.

    Raises:
        ConfigError: the file cannot be read, or a section, key or value is wrong.

    """
    file = _file(path, environ)
    if optional and path and not Path(path).exists():
        file = None
    layers = [
        Layer() if file is None else file_layer(_parsed(file), str(file), environ),
        environment_layer(environ),
        override_layer(overrides or {}),
    ]
    values: dict[tuple[str, str], Given] = {}
    for layer in layers:
        values |= layer.values
    ignored = tuple(name for layer in layers for name in layer.ignored)
    return Loaded(_settings(values), NO_FILE if file is None else str(file), ignored)


def _file(path: str | None, environ: Mapping[str, str]) -> Path | None:
    named = path or next((environ[name] for name in NAMED_BY if environ.get(name)), None)
    if named:
        return Path(named)
    candidates = [HERE]
    if environ.get("HOME"):
        candidates.append(Path(environ["HOME"]) / AT_HOME)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _parsed(file: Path) -> Mapping[str, object]:
    try:
        text = file.read_text("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"there is no configuration file {file}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration file {file} cannot be read: {error}") from error
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{file} is no JSON: line {error.lineno}, column {error.colno}: {error.msg}",
            {"line": error.lineno, "column": error.colno},
        ) from error
    except ValueError as error:  # a number of thousands of digits
        raise ConfigError(f"{file} is no JSON: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{file} is nested too deeply") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file} holds no JSON object")
    return content


def _settings(values: Mapping[tuple[str, str], Given]) -> Settings:
    content: dict[str, dict[str, object]] = {}
    for (section, key), given in values.items():
        content.setdefault(section, {})[key] = given.value
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        raise config_error(error, values) from None  # its text would show the values of secrets
