"""The image and the compose file, read without an engine."""

import json
import re
from typing import Any

import yaml

from contextfind.adapters.postgres.index_upkeep import MOST_MEMORY
from contextfind.adapters.postgres.place import Place
from contextfind.config.model import ServerSettings
from contextfind.config.storage import StorageSettings
from tests.house.reading import ROOT

DOCKER = ROOT / "docker"
COMPOSE = ROOT / "compose.yaml"
EXAMPLE = ROOT / ".env.example"
INSTRUCTIONS = {
    *("ARG", "FROM", "RUN", "ENV", "COPY", "WORKDIR", "LABEL", "USER", "VOLUME", "EXPOSE"),
    *("HEALTHCHECK", "CMD", "STOPSIGNAL"),
}
UNTRUSTED_USERS = 10_000  # ids from here on belong to nobody on the host


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile as (instruction, argument), continued lines joined."""
    text = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines()]


def arguments(name: str) -> list[str]:
    return [argument for instruction, argument in instructions() if instruction == name]


def runtime() -> list[tuple[str, str]]:
    """Return the instructions of the last stage."""
    all_of_them = instructions()
    last = max(n for n, (instruction, _) in enumerate(all_of_them) if instruction == "FROM")
    return all_of_them[last:]


def compose() -> dict[str, Any]:
    text = COMPOSE.read_text(encoding="utf-8")
    read: dict[str, Any] = yaml.safe_load(text)
    return read


def service(name: str = "contextfind") -> dict[str, Any]:
    found: dict[str, Any] = compose()["services"][name]
    return found


class TestDockerfile:
    def test_uses_known_instructions_only(self) -> None:
        assert {name for name, _ in instructions()} <= INSTRUCTIONS

    def test_takes_its_base_from_an_argument(self) -> None:
        assert instructions()[0] == ("ARG", "BASE_IMAGE=python:3.11-slim-bookworm")
        assert all(base.startswith("${BASE_IMAGE} ") for base in arguments("FROM"))

    def test_leaves_the_compiler_in_the_builder(self) -> None:
        assert any("g++" in run for run in arguments("RUN"))
        assert not any("g++" in argument for _, argument in runtime())
        assert any("--from=builder" in argument for name, argument in runtime() if name == "COPY")

    def test_compiles_for_any_processor(self) -> None:
        assert any("HNSWLIB_NO_NATIVE=1" in setting for setting in arguments("ENV"))

    def test_copies_only_what_the_context_holds(self) -> None:
        copied = [
            name
            for argument in arguments("COPY")
            if not argument.startswith("--from")
            for name in argument.split()[:-1]
        ]
        allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        assert copied
        assert all(f"!{name.removeprefix('./')}" in allowed for name in copied)
        assert all((ROOT / name).exists() for name in copied)

    def test_does_not_run_as_root(self) -> None:
        user = next(argument for name, argument in runtime() if name == "USER")
        assert int(user.split(":")[0]) >= UNTRUSTED_USERS

    def test_keeps_its_data_in_the_volume_it_starts_in(self) -> None:
        assert arguments("VOLUME") == ["/data"]
        assert ("WORKDIR", "/data") in runtime()

    def test_is_healthy_when_health_says_so(self) -> None:
        assert "/health" in arguments("HEALTHCHECK")[0]
        assert arguments("EXPOSE") == ["1933"]

    def test_serves_on_every_address_so_that_a_key_is_needed(self) -> None:
        (command,) = arguments("CMD")
        assert '"serve", "--host", "0.0.0.0"' in command


class TestCompose:
    def test_does_not_start_without_a_key(self) -> None:
        key = service()["environment"]["CONTEXTFIND_API_KEY"]
        assert re.fullmatch(r"\$\{CONTEXTFIND_API_KEY:\?.+\}", key)

    def test_writes_to_its_volume_and_tmp_only(self) -> None:
        assert service()["read_only"] is True
        assert service()["volumes"] == ["data:/data"]
        assert "data" in compose()["volumes"]
        (only,) = service()["tmpfs"]
        assert only.startswith("/tmp:size=")  # noqa: S108 - the container's own

    def test_may_do_nothing_that_it_need_not(self) -> None:
        assert service()["cap_drop"] == ["ALL"]
        assert service()["security_opt"] == ["no-new-privileges:true"]
        assert service()["pids_limit"] > 0

    def test_is_given_longer_to_stop_than_its_requests_are(self) -> None:
        grace = int(service()["stop_grace_period"].removesuffix("s"))
        assert grace > ServerSettings().shutdown_seconds

    def test_is_reachable_from_this_machine_only(self) -> None:
        assert all(port.startswith("127.0.0.1:") for port in service()["ports"])

    def test_restarts_and_is_watched(self) -> None:
        assert service()["restart"] == "unless-stopped"
        assert "/health" in " ".join(service()["healthcheck"]["test"])

    def test_builds_from_the_files_that_are_there(self) -> None:
        build = service()["build"]
        assert (ROOT / build["context"]).resolve() == ROOT
        assert (ROOT / build["dockerfile"]).is_file()

    def test_the_example_names_every_variable(self) -> None:
        asked = set(re.findall(r"(?<!\$)\$\{([A-Z_]+)", COMPOSE.read_text(encoding="utf-8")))
        example = EXAMPLE.read_text(encoding="utf-8")
        assert asked
        assert [
            name for name in asked if not re.search(rf"^(# )?{name}=", example, re.MULTILINE)
        ] == []

    def test_says_what_the_image_says_of_health(self) -> None:
        (check,) = arguments("HEALTHCHECK")
        options, _, command = check.partition(" CMD ")
        asked = service()["healthcheck"]
        assert asked["test"] == ["CMD", *json.loads(command)]
        told = dict(option.removeprefix("--").split("=") for option in options.split())
        assert {name.replace("-", "_"): value for name, value in told.items()} == {
            name: str(value) for name, value in asked.items() if name != "test"
        }


class TestScaled:
    """The profile with PostgreSQL, two processes and a proxy."""

    def test_begins_only_when_it_is_asked_for(self) -> None:
        asked = {name for name, one in compose()["services"].items() if "profiles" in one}
        assert asked == {"postgres", "api", "proxy"}
        assert all(service(name)["profiles"] == ["scaled"] for name in asked)

    def test_is_all_there_when_its_proxy_is(self) -> None:
        healthy = {"condition": "service_healthy"}
        assert service("proxy")["depends_on"] == {"api": healthy}
        assert service("api")["depends_on"] == {"postgres": healthy}
        assert all("healthcheck" in service(name) for name in ("proxy", "api", "postgres"))

    def test_has_two_servers_that_keep_nothing(self) -> None:
        api = service("api")
        assert api["deploy"]["replicas"] == "${API_REPLICAS:-2}"
        assert "volumes" not in api
        assert "ports" not in api
        assert api["read_only"] is True
        assert api["environment"]["CONTEXTFIND_STORAGE__BACKEND"] == "postgres"

    def test_only_the_proxy_is_reachable_and_from_this_machine_only(self) -> None:
        assert service("proxy")["ports"] == service()["ports"]
        assert "ports" not in service("postgres")

    def test_does_not_work_as_a_superuser(self) -> None:
        dsn = service("api")["environment"]["CONTEXTFIND_STORAGE__DSN"]
        assert "user=contextfind " in dsn
        assert "POSTGRES_USER" not in service("postgres")["environment"]
        assert mounted("postgres") == {
            "/var/lib/postgresql": "database",
            "/docker-entrypoint-initdb.d/role.sh": "./deploy/postgres/role.sh",
        }

    def test_has_room_to_draw_a_graph(self) -> None:
        size = int(service("postgres")["shm_size"].removesuffix("m")) << 20
        assert size > MOST_MEMORY

    def test_lets_all_its_servers_connect(self) -> None:
        (number,) = re.findall(r"POSTGRES_CONNECTIONS:-(\d+)", COMPOSE.read_text(encoding="utf-8"))
        each = Place("", connections=StorageSettings().connections).most_connections
        assert int(number) > 3 * each  # two, and one that takes the place of another

    def test_installs_what_the_database_needs(self) -> None:
        assert "postgres" in service("api")["build"]["args"]["EXTRAS"]
        (extras,) = [one for one in arguments("ARG") if one.startswith("EXTRAS=")]
        assert (
            service()["build"]["args"]["EXTRAS"] == f"${{EXTRAS:-{extras.removeprefix('EXTRAS=')}}}"
        )

    def test_mounts_what_is_there(self) -> None:
        paths = [p for name in ("postgres", "proxy") for p in mounted(name).values()]
        assert all((ROOT / path).is_file() for path in paths if path.startswith("."))


def mounted(name: str) -> dict[str, str]:
    """Return what a service has at which place."""
    pairs = [volume.split(":")[:2] for volume in service(name)["volumes"]]
    return {target: source for source, target in pairs}


def test_a_key_is_never_committed() -> None:
    example = EXAMPLE.read_text(encoding="utf-8")
    assert re.search(r"^CONTEXTFIND_API_KEY=$", example, re.MULTILINE)
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_files_end_with_a_newline() -> None:
    files = [COMPOSE, EXAMPLE, *(path for path in DOCKER.iterdir() if path.is_file())]
    assert [path.name for path in files if not path.read_text("utf-8").endswith("\n")] == []
