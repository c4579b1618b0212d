"""The examples of deploy/, read without a cluster, a service manager or a proxy."""

import re
import string
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from contextfind.config.model import ServerSettings
from tests.house.reading import ROOT

DEPLOY = ROOT / "deploy"
RULES = ServerSettings()


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def objects() -> dict[str, dict[str, Any]]:
    """Return the Kubernetes objects by kind."""
    return {each["kind"]: each for each in yaml.safe_load_all(read("kubernetes/contextfind.yaml"))}


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = objects()["StatefulSet"]["spec"]["template"]["spec"]
    return spec


def unit() -> dict[str, list[str]]:
    """Return the settings of the systemd unit; one that comes again adds a value."""
    found: dict[str, list[str]] = {}
    for line in read("systemd/contextfind.service").splitlines():
        if "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            found.setdefault(name, []).append(value)
    return found


class TestKubernetes:
    def test_has_one_writer_of_one_volume(self) -> None:
        spec = objects()["StatefulSet"]["spec"]
        assert spec["replicas"] == 1
        (claim,) = spec["volumeClaimTemplates"]
        assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
        mounts = {m["name"]: m["mountPath"] for m in pod()["containers"][0]["volumeMounts"]}
        assert mounts == {"data": "/data", "tmp": "/tmp"}  # noqa: S108 - the container's own

    def test_leads_to_its_pods(self) -> None:
        labels = objects()["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
        assert objects()["Service"]["spec"]["selector"] == labels
        assert objects()["StatefulSet"]["spec"]["selector"]["matchLabels"] == labels

    def test_takes_the_key_from_a_secret(self) -> None:
        (container,) = pod()["containers"]
        assert container["envFrom"] == [{"secretRef": {"name": "contextfind"}}]
        assert "API_KEY" not in str(container["env"])

    def test_is_not_given_the_address_of_its_service_as_a_port(self) -> None:
        assert pod()["enableServiceLinks"] is False

    def test_may_do_nothing_that_it_need_not(self) -> None:
        (container,) = pod()["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        who = pod()["securityContext"]
        assert who["runAsNonRoot"] is True
        dockerfile = (ROOT / "docker/Dockerfile").read_text(encoding="utf-8")
        assert f"USER {who['runAsUser']}:{who['runAsGroup']}\n" in dockerfile
        assert who["fsGroup"] == who["runAsGroup"]
        assert pod()["automountServiceAccountToken"] is False

    def test_restarts_by_health_and_sends_by_readiness(self) -> None:
        (container,) = pod()["containers"]
        assert container["livenessProbe"]["httpGet"]["path"] == "/health"
        assert container["startupProbe"]["httpGet"]["path"] == "/health"
        assert container["readinessProbe"]["httpGet"]["path"] == "/ready"

    def test_is_given_longer_to_stop_than_its_requests_are(self) -> None:
        assert pod()["terminationGracePeriodSeconds"] > RULES.shutdown_seconds

    def test_the_kustomization_names_what_is_there(self) -> None:
        text = yaml.safe_load(read("kubernetes/kustomization.yaml"))
        assert all((DEPLOY / "kubernetes" / name).is_file() for name in text["resources"])
        assert [image["name"] for image in text["images"]] == [pod()["containers"][0]["image"]]


class TestKubernetesScaled:
    """Several servers on one database."""

    def objects(self) -> dict[str, dict[str, Any]]:
        text = read("kubernetes/scaled/contextfind.yaml")
        return {each["kind"]: each for each in yaml.safe_load_all(text)}

    def pod(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.objects()["Deployment"]["spec"]["template"]["spec"]
        return spec

    def test_has_several_that_keep_nothing(self) -> None:
        assert self.objects()["Deployment"]["spec"]["replicas"] > 1
        kept = [volume for volume in self.pod()["volumes"] if "emptyDir" not in volume]
        assert kept == []
        (container,) = self.pod()["containers"]
        assert {"name": "CONTEXTFIND_STORAGE__BACKEND", "value": "postgres"} in container["env"]
        assert "DSN" not in str(container["env"])

    def test_leads_to_its_pods(self) -> None:
        spec = self.objects()["Deployment"]["spec"]
        labels = spec["template"]["metadata"]["labels"]
        assert self.objects()["Service"]["spec"]["selector"] == labels
        assert spec["selector"]["matchLabels"] == labels
        assert self.objects()["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels

    def test_is_as_safe_as_the_single_one(self) -> None:
        (container,), (single,) = self.pod()["containers"], pod()["containers"]
        for name in ("securityContext", "livenessProbe", "readinessProbe", "startupProbe"):
            assert container[name] == single[name]
        for name in ("enableServiceLinks", "automountServiceAccountToken"):
            assert self.pod()[name] is False
        assert self.pod()["terminationGracePeriodSeconds"] > RULES.shutdown_seconds

    def test_the_kustomization_names_what_is_there(self) -> None:
        text = yaml.safe_load(read("kubernetes/scaled/kustomization.yaml"))
        home = DEPLOY / "kubernetes/scaled"
        assert all((home / name).is_file() for name in text["resources"])
        assert [i["name"] for i in text["images"]] == [self.pod()["containers"][0]["image"]]


class TestSystemd:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("DynamicUser", "yes"),
            ("StateDirectory", "contextfind"),
            ("ProtectSystem", "strict"),
            ("ProtectHome", "yes"),
            ("NoNewPrivileges", "yes"),
            ("CapabilityBoundingSet", ""),
            ("MemoryDenyWriteExecute", "yes"),
        ],
    )
    def test_may_do_nothing_that_it_need_not(self, name: str, value: str) -> None:
        assert unit()[name] == [value]

    def test_keeps_its_data_where_it_may_write(self) -> None:
        (settings,) = unit()["Environment"]
        assert "CONTEXTFIND_DATA=%S/contextfind" in settings.split()

    def test_is_given_longer_to_stop_than_its_requests_are(self) -> None:
        (seconds,) = unit()["TimeoutStopSec"]
        assert int(seconds) > RULES.shutdown_seconds

    def test_does_not_begin_again_what_somebody_has_to_decide(self) -> None:
        assert unit()["RestartPreventExitStatus"] == ["2 3"]


def directives(name: str) -> Iterator[list[str]]:
    """Yield the directives of the nginx file as words."""
    for line in read("proxy/nginx.conf").splitlines():
        words = line.strip().rstrip(";").split()
        if words and words[0] == name:
            yield words[1:]


def megabytes(text: str, unit_bytes: int) -> int:
    return int(text.rstrip(string.ascii_letters)) * unit_bytes


class TestNginx:
    def test_lets_the_server_refuse_what_is_too_large(self) -> None:
        other, upload = (megabytes(size, 1024**2) for (size,) in directives("client_max_body_size"))
        assert other > RULES.max_body_bytes
        assert upload > RULES.max_upload_bytes

    def test_waits_as_long_as_the_server(self) -> None:
        ((seconds,),) = directives("proxy_read_timeout")
        assert int(seconds.removesuffix("s")) > RULES.wait_seconds

    def test_passes_no_host_that_the_caller_chose(self) -> None:
        hosts = [words[1] for words in directives("proxy_set_header") if words[0] == "Host"]
        assert hosts == ["$server_name"]


@pytest.mark.parametrize("name", ["proxy/Caddyfile", "proxy/Caddyfile.scaled"])
class TestCaddy:
    def test_lets_the_server_refuse_what_is_too_large(self, name: str) -> None:
        sizes = re.findall(r"max_size (\d+MB)", read(name))
        upload, other = (megabytes(size, 1000**2) for size in sizes)
        assert other > RULES.max_body_bytes
        assert upload > RULES.max_upload_bytes

    def test_waits_as_long_as_the_server(self, name: str) -> None:
        (seconds,) = re.findall(r"response_header_timeout (\d+)s", read(name))
        assert int(seconds) > RULES.wait_seconds
