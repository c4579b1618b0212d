"""One target in one process: `python -m tests.fuzz.attempt NAME --seconds 60 --findings DIR --corpus DIR`.

Guided by coverage where atheris is installed, else by chance alone. A finding is made small, written
into a file of its own and printed; the run goes on. The last line says `cases: N`, or libFuzzer says it.
"""

import argparse
import hashlib
import importlib
import logging
import os
import random
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.guard import Fault, fault_of
from tests.fuzz.mutation import mutated, repeated
from tests.fuzz.shrinking import shrunk
from tests.fuzz.target import Run, Target

try:
    import atheris
except ImportError:  # no wheel for this machine
    atheris = None

_WORST = 60  # seconds for one input, where not even the guard's signal gets through
_MEGABYTES = 4_096  # of this process
_REPEATED = 0.01  # of the inputs have one piece many times; they are slow


@dataclass
class Attempt:
    """Feeds inputs to a run, and keeps what it finds, each fault once."""

    target: Target
    run: Run
    findings: Path
    known: set[tuple[str, str]] = field(default_factory=set)

    def take(self, data: bytes) -> None:
        """Try one input."""
        fault = fault_of(self.run, data, self.target.seconds)
        if fault is None or fault.alike in self.known:
            return
        self.known.add(fault.alike)
        self._keep(self._small(data, fault), fault)
        if fault.kind == "Hang":  # threads that it left behind would spoil what comes next
            sys.stdout.flush()
            os._exit(3)

    def _small(self, data: bytes, fault: Fault) -> bytes:
        if fault.kind in ("Hang", "Memory"):  # each try costs as much as the finding
            return data

        def still(shorter: bytes) -> bool:
            again = fault_of(self.run, shorter, self.target.seconds)
            return again is not None and again.alike == fault.alike

        return shrunk(data, still)

    def _keep(self, data: bytes, fault: Fault) -> None:
        name = self.target.name.replace(" ", "-")
        file = self.findings / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
        file.write_bytes(data)
        say(f"FOUND {file}: {fault.kind} in {fault.place}\n{data[:500]!r}\n{fault.told}\n")


def say(text: str) -> None:
    """Show a text at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run; what was found is in the directory of findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--findings", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of zipfile about names given twice, of bs4 about odd pages
    logging.getLogger().addHandler(logging.NullHandler())  # pypdf tells of everything that it mends
    target = _target(asked.name)
    asked.corpus.mkdir(parents=True, exist_ok=True)
    for number, good in enumerate(target.seeds()):
        (asked.corpus / f"seed-{number}").write_bytes(good)
    with target.opened() as run:
        attempt = Attempt(target, run, asked.findings)
        (_by_chance if atheris is None else _guided)(attempt, asked)


def _target(name: str) -> Target:
    """Return a target, its parsers watched by atheris; they are loaded here and not before."""
    shown = _LIBRARIES.get(name, [])
    with nullcontext() if atheris is None else atheris.instrument_imports(["contextfind", *shown]):
        module = importlib.import_module("tests.fuzz.targets")
    found: dict[str, Target] = module.TARGETS
    return found[name]


# Here and not in the targets: a library is watched from its first import on.
_LIBRARIES: dict[str, list[str]] = {
    "front-matter": ["yaml"],
    "markdown": ["markdown_it"],
    "html": ["markdownify", "bs4"],
    "zip": ["zipfile"],
    "office": ["pypdf", "docx"],
    "multipart": ["python_multipart"],
}


def _guided(attempt: Attempt, asked: argparse.Namespace) -> None:
    words = asked.findings / f"{asked.name.replace(' ', '-')}.dict"
    lines = (f'"{_escaped(word)}"\n' for word in attempt.target.words if len(word) < 64)
    words.write_text("".join(lines), encoding="ascii")
    arguments = [
        sys.argv[0], f"-max_total_time={asked.seconds}", f"-max_len={attempt.target.longest}",
        f"-timeout={_WORST}", f"-rss_limit_mb={_MEGABYTES}", f"-seed={asked.seed}", f"-dict={words}",
        f"-artifact_prefix={asked.findings}/died-", "-verbosity=1", "-print_final_stats=1", "-reload=0",
        str(asked.corpus),
    ]  # fmt: skip
    atheris.Setup(arguments, attempt.take, custom_mutator=_mutator(attempt.target))
    atheris.Fuzz()


def _mutator(target: Target) -> Callable[[bytes, int, int], bytes]:
    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        chance = random.Random(seed)  # noqa: S311 - inputs, no secrets

        def change(piece: bytes) -> bytes:
            if chance.random() < _REPEATED:
                return repeated(piece, longest, chance)
            if chance.random() < 0.2:
                return mutated(piece, target.words, longest, chance)
            return bytes(atheris.Mutate(piece, max(longest, len(piece))))

        found = change(data) if target.knead is None else target.knead(data, change, chance)
        return found[:longest]

    return mutate


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def _by_chance(attempt: Attempt, asked: argparse.Namespace) -> None:
    target, chance = attempt.target, random.Random(asked.seed)  # noqa: S311
    pool = [*target.seeds()]

    def change(piece: bytes) -> bytes:
        if chance.random() < _REPEATED:
            return repeated(piece, target.longest, chance)
        return mutated(piece, target.words, target.longest, chance)

    cases, end = 0, time.monotonic() + asked.seconds
    while time.monotonic() < end:
        good = chance.choice(pool)
        data = change(good) if target.knead is None else target.knead(good, change, chance)
        attempt.take(data)
        cases += 1
        if chance.random() < 0.05:  # a walk away from the good ones
            pool[chance.randrange(len(pool))] = data if chance.random() < 0.5 else good
    say(f"cases: {cases}")


if __name__ == "__main__":
    main()
