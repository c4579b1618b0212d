"""The audit of what is installed can find something, and finds nothing now."""

import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.house.audit import REPAIRED, Package, is_allowed, packages
from tests.house.reading import ROOT


def test_what_the_server_brings_along_is_in_order() -> None:
    found, missing = packages([])
    assert {"fastapi", "starlette", "uvicorn", "h11", "numpy"} <= {one.name for one in found}
    assert missing == []
    assert [fault for one in found for fault in one.faults()] == []


@pytest.mark.parametrize(
    ("package", "told"),
    [
        (Package("h11", "0.14.0", "MIT", []), "CVE-2025-43859 is repaired in 0.16.0"),
        (Package("x", "1.0", "MIT", [("y", Requirement("x>=2"))]), "y requires x>=2"),
        (Package("x", "1.0", "GPL-3.0-only", []), "'GPL-3.0-only' is not among"),
        (Package("x", "1.0", "MPL-2.0", []), "'MPL-2.0' is not among"),
        (Package("x", "1.0", "", []), "'not told' is not among"),
        (Package("x", "1.0", "MIT AND AGPL-3.0", []), "not among"),
    ],
)
def test_a_fault_is_told(package: Package, told: str) -> None:
    (fault,) = package.faults()
    assert told in fault


@pytest.mark.parametrize("licence", ["Apache-2.0 OR GPL-2.0", "(MIT AND BSD-3-Clause)", "ISC"])
def test_a_licence_that_can_be_fulfilled_is_allowed(licence: str) -> None:
    assert is_allowed(licence)


def test_what_we_require_ourselves_is_required_without_its_known_faults() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    ours = [Requirement(text) for text in (*project["dependencies"], *chain(*extras))]
    assert {one.name for one in ours} & set(REPAIRED)
    for one in ours:
        repaired, advisory = REPAIRED.get(one.name, ("", ""))
        if repaired:
            bounds = [Version(each.version) for each in one.specifier if each.operator == ">="]
            assert bounds >= [Version(repaired)], f"{one}: {advisory}"
