"""From a file, the environment and the command line to one set of values, each with its origin.

A value is addressed by (section, key) whatever spelling it came in: `embedding.dense.model`,
`embedding.model` and `CONTEXTFIND_EMBEDDING__MODEL` are one value.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import get_origin

from contextfind.config.model import Settings
from contextfind.config.section import Section
from contextfind.domain.errors import ConfigError

PREFIX = "CONTEXTFIND_"
SHORTCUTS: Mapping[str, tuple[str, str]] = {
    "CONTEXTFIND_API_KEY": ("server", "api_key"),
    "CONTEXTFIND_ROOT_API_KEY": ("server", "root_api_key"),
    "CONTEXTFIND_HOST": ("server", "host"),
    "CONTEXTFIND_PORT": ("server", "port"),
    "CONTEXTFIND_DATA": ("storage", "path"),
}
_OTHER_SPELLINGS: Mapping[tuple[str, str], str] = {
    ("storage", "workspace"): "path",
    ("embedding", "max_concurrent"): "concurrency",
    ("vlm", "max_concurrent"): "concurrency",
    ("query_planner", "max_concurrent"): "concurrency",
    ("rerank", "model_name"): "model",
    ("rerank", "max_concurrent"): "concurrency",
}
# Keys of older files that mean nothing here; they are named at start and do no harm.
_WITHOUT_MEANING: Mapping[str, frozenset[str]] = {
    "server": frozenset({"workers", "auth_mode", "with_bot", "bot_api_url", "encryption_enabled"}),
    "storage": frozenset({"vectordb", "agfs", "params"}),
    "embedding": frozenset(
        {"sparse", "hybrid", "input", "version", "max_retries", "circuit_breaker"}
    ),
    "log": frozenset({"output", "rotation", "rotation_days", "rotation_interval"}),
}
_LENIENT = frozenset({"vlm", "query_planner", "rerank"})  # every provider has its own further keys
_SECRET_NAME = re.compile(r"^\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))$", re.ASCII)
_LOOKS_SECRET = re.compile(r"key|token|secret|password|\b[as]k\b", re.IGNORECASE)
_SIMILAR = 0.8  # of difflib: `embeding`, `sever`, `logs`; not `parsers` for `server`

SECTIONS: Mapping[str, type[Section]] = {
    name: kind
    for name, info in Settings.model_fields.items()
    if isinstance(kind := info.annotation, type) and issubclass(kind, Section)
}


@dataclass(frozen=True, slots=True)
class Given:
    """A value and where it was found: `embedding.dense.model in /etc/ov.conf`."""

    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Layer:
    """The values of one source, and what in it has no meaning here."""

    values: dict[tuple[str, str], Given] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)

    def add(self, section: str, key: str, given: Given) -> None:
        """Take in a value; None says nothing.

        Raises:
            ConfigError: no such key, or the value was given before in another spelling.

        """
        key = _OTHER_SPELLINGS.get((section, key), key)
        if given.value is None:
            return
        if key not in SECTIONS[section].model_fields:
            self.ignored.append(_ignorable(section, key, given))
            return
        before = self.values.get((section, key))
        if before is not None and before.value != given.value:
            raise ConfigError(
                f"{given.origin} and {before.origin} contradict each other; keep one of them"
            )
        self.values[section, key] = given


def file_layer(content: Mapping[str, object], name: str, environ: Mapping[str, str]) -> Layer:
    """Return the values of a parsed ov.conf; `$NAME` is taken from the environment.

    Raises:
        ConfigError: a section or key that looks like a slip of the pen, a variable that is not set.

    """
    layer = Layer()
    for section, body in content.items():
        if section not in SECTIONS:
            _check_near_miss(section, name)
            layer.ignored.append(section)
            continue
        if not isinstance(body, Mapping):
            raise ConfigError(f"{section} is {body!r} in {name}; expected an object")
        for path, value in _entries(section, body):
            key = path.rpartition(".")[2]
            layer.add(
                section,
                key,
                Given(_resolved(value, f"{path} in {name}", environ), f"{path} in {name}"),
            )
    return layer


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """Return the values of `CONTEXTFIND_SECTION__KEY` and the shortcuts; empty ones say nothing.

    Raises:
        ConfigError: an unknown section or key behind `CONTEXTFIND_` and with `__`.

    """
    layer = Layer()
    for name, text in sorted(environ.items()):
        place = SHORTCUTS.get(name)
        if place is None and name.startswith(PREFIX) and "__" in name:
            section, *between = name.removeprefix(PREFIX).lower().split("__")
            key = between.pop() if between else ""  # none in CONTEXTFIND__SERVER
            if section not in SECTIONS or between not in ([], ["dense"]):
                raise ConfigError(f"{name} sets no section; known are {', '.join(SECTIONS)}")
            place = (section, key)
        if place is not None and text:
            layer.add(*place, Given(_decoded(*place, text), name))
    return layer


def override_layer(overrides: Mapping[str, object]) -> Layer:
    """Return values given in code or on the command line, by dotted path (`server.port`)."""
    layer = Layer()
    for path, value in overrides.items():
        section, _, key = path.partition(".")
        if section not in SECTIONS:
            raise ConfigError(f"{path} sets no section; known are {', '.join(SECTIONS)}")
        layer.add(section, key, Given(value, path))
    return layer


def _entries(section: str, body: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in body.items():
        if (section, key) == ("embedding", "dense") and isinstance(value, Mapping):
            yield from ((f"{section}.{key}.{inner}", found) for inner, found in value.items())
        else:
            yield f"{section}.{key}", value


def _ignorable(section: str, key: str, given: Given) -> str:
    """Return the path of a key that may be ignored; any other one is an error."""
    known = list(SECTIONS[section].model_fields)
    near = difflib.get_close_matches(key, known, 1, _SIMILAR)
    if key in _WITHOUT_MEANING.get(section, ()) or (section in _LENIENT and not near):
        return f"{section}.{key}"
    value = "" if _LOOKS_SECRET.search(" ".join((key, *near))) else f" (value {given.value!r})"
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigError(
        f"unknown key {section}.{key}{value}, given as {given.origin}: {hint}allowed are {', '.join(known)}"
    )


def _check_near_miss(section: str, name: str) -> None:
    near = difflib.get_close_matches(section.lower(), list(SECTIONS), 1, _SIMILAR)
    if near:
        raise ConfigError(f"unknown section {section!r} in {name}: did you mean {near[0]!r}?")


def _resolved(value: object, origin: str, environ: Mapping[str, str]) -> object:
    match = _SECRET_NAME.match(value) if isinstance(value, str) else None
    if match is None:
        return value
    variable = match[1] or match[2]
    if not environ.get(variable):
        raise ConfigError(f"{origin} is ${variable}, and the environment has no {variable}")
    return environ[variable]


def _decoded(section: str, key: str, text: str) -> object:
    """Return the text of a variable as the kind of value the key takes; numbers are read later."""
    info = SECTIONS[section].model_fields.get(key)
    if info is None or get_origin(info.annotation) not in (tuple, dict):
        return text
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except ValueError as error:
            raise ConfigError(
                f"{PREFIX}{section.upper()}__{key.upper()} is no JSON: {error}"
            ) from error
    return [part.strip() for part in text.split(",") if part.strip()]
