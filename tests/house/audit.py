"""`make audit`: what is installed, held to what this project requires, may use and knows to be broken.

Nothing is asked of the network. It looks no vulnerability up; `pip-audit` does, where it is reachable.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = "contextfind"
ALLOWED = frozenset(
    (
        "MIT",
        "MIT-0",
        "BSD",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "0BSD",
        "Apache-2.0",
        "ISC",
        "PSF-2.0",
        "Zlib",
        "CC0-1.0",
    )
)
# Used unchanged and never copied into our files, which is all that the MPL asks.
EXCEPTIONS = dict.fromkeys(("certifi", "pathspec", "hypothesis"), "MPL-2.0")
UNTOLD = {
    "hnswlib": "Apache-2.0",
    "atheris": "Apache-2.0",
}  # their files say so, their metadata nothing

# The first version without a fault that was known when this was written; no list of all there are.
REPAIRED = {
    "certifi": ("2024.7.4", "CVE-2024-39689"),
    "fastapi": ("0.109.1", "CVE-2024-24762"),
    "filelock": ("3.20.1", "CVE-2025-68146"),
    "h11": ("0.16.0", "CVE-2025-43859"),
    "idna": ("3.7", "CVE-2024-3651"),
    "lxml": ("4.9.1", "CVE-2022-2309"),
    "pypdf": ("6.1.3", "CVE-2025-62708"),
    "python-multipart": ("0.0.18", "CVE-2024-53981"),
    "pyyaml": ("5.4", "CVE-2020-14343"),
    "requests": ("2.32.4", "CVE-2024-47081"),
    "starlette": ("0.49.1", "CVE-2025-62727"),
    "urllib3": ("2.6.0", "CVE-2025-66418"),
    "uvicorn": ("0.11.7", "CVE-2020-7695"),
}
_SPELLINGS = {
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd license": "BSD",
    "isc license (iscl)": "ISC",
    "isc license": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}


@dataclass(frozen=True)
class Package:
    """An installed package and everything that requires it: (who, requirement)."""

    name: str
    version: str
    licence: str
    wanted: Sequence[tuple[str, Requirement]]

    def faults(self) -> Iterator[str]:
        """Give what is wrong with it."""
        for who, requirement in self.wanted:
            if not requirement.specifier.contains(self.version, prereleases=True):
                yield f"{who} requires {requirement}"
        if not is_allowed(self.licence) and EXCEPTIONS.get(self.name) != self.licence:
            yield f"licence {self.licence or 'not told'!r} is not among the allowed ones"
        repaired, advisory = REPAIRED.get(self.name, ("0", ""))
        if Version(self.version) < Version(repaired):
            yield f"{advisory} is repaired in {repaired}"


def is_allowed(licence: str) -> bool:
    """Whether an expression can be fulfilled with allowed licences alone."""
    plain = licence.replace("(", " ").replace(")", " ")
    return any(
        all(one.strip() in ALLOWED for one in re.split(r"\bAND\b", choice))
        for choice in re.split(r"\bOR\b", plain)
    )


def licence_of(name: str, told: metadata.PackageMetadata) -> str:
    """Return what a package says of its licence, as SPDX where it can be told."""
    expression = told.get("License-Expression")
    if expression:
        return expression
    classes = [
        line.rpartition("::")[2].strip()
        for line in told.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    said = classes[0] if classes else (told.get("License") or "").strip().partition("\n")[0]
    return _SPELLINGS.get(said.lower(), said) or UNTOLD.get(name, "")


def installed() -> Mapping[str, metadata.Distribution]:
    """Return what is installed, by canonical name."""
    return {canonicalize_name(one.name): one for one in metadata.distributions()}


def required(
    there: Mapping[str, metadata.Distribution], extras: Sequence[str]
) -> tuple[dict[str, list[tuple[str, Requirement]]], list[str]]:
    """Return what is required, by whom, and what of that is missing; of all extras of ours that are named."""
    wanted: dict[str, list[tuple[str, Requirement]]] = {}
    missing: list[str] = []
    queue: list[tuple[str, str]] = [(ROOT, extra) for extra in ("", *extras)]
    seen: set[tuple[str, str]] = set()
    while queue:
        place = queue.pop()
        if place in seen:
            continue
        seen.add(place)
        for text in there[place[0]].requires or ():
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            if not _applies(requirement, place[1]):
                continue
            if name not in there:
                missing.append(f"{place[0]} requires {requirement}, which is not installed")
                continue
            wanted.setdefault(name, []).append((place[0], requirement))
            queue += [(name, extra) for extra in ("", *requirement.extras)]
    return wanted, missing


def _applies(requirement: Requirement, extra: str) -> bool:
    """Whether a requirement is one of a package with this extra, and not of it without."""
    marker = requirement.marker
    if marker is None:
        return extra == ""
    return marker.evaluate({"extra": extra}) and (extra == "" or not marker.evaluate({"extra": ""}))


def complete_extras(there: Mapping[str, metadata.Distribution]) -> list[str]:
    """Return those of our extras whose packages are all installed."""
    extras = there[ROOT].metadata.get_all("Provides-Extra") or []
    return [extra for extra in extras if not required(there, [extra])[1]]


def packages(extras: Sequence[str]) -> tuple[list[Package], list[str]]:
    """Return what the project brings along with these extras, and what is missing of it."""
    there = installed()
    wanted, missing = required(there, extras)
    found = [
        Package(name, there[name].version, licence_of(name, there[name].metadata), wanted[name])
        for name in sorted(wanted)
        if name != ROOT
    ]
    return found, missing


def report(found: Sequence[Package], extras: Sequence[str]) -> Iterator[str]:
    """Give a line for each package, and what the audit did not look at."""
    for one in found:
        yield f"{'!' if list(one.faults()) else ' '} {one.name:<28}{one.version:<18}{one.licence}"
    yield f"\n{len(found)} packages (extras: {', '.join(extras) or 'none'}) held to their requirements, to the"
    yield f"licences that may be used, and to {len(REPAIRED)} faults known when this was written. No database of"
    yield "vulnerabilities was asked, nor whether a version was withdrawn: pip-audit does both."


def main() -> int:
    """Print the packages and what is wrong with them; return 1 when something is."""
    extras = complete_extras(installed())
    found, missing = packages(extras)
    wrong = [f"{one.name} {one.version}: {fault}" for one in found for fault in one.faults()]
    lines = [*report(found, extras), *(f"WRONG {fault}" for fault in (*missing, *wrong))]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if missing or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
