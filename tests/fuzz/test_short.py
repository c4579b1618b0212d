"""A little of what `make fuzz-parsers` does, without its coverage: good inputs, found ones, chance."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from contextfind.domain.errors import InvalidArgumentError, UnavailableError
from tests.fuzz.containers import mended
from tests.fuzz.file_targets import exports
from tests.fuzz.guard import fault_of
from tests.fuzz.mutation import mutated, repeated
from tests.fuzz.parsers import Score
from tests.fuzz.shrinking import shrunk
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS

FOUND = Path(__file__).parent / "found"  # a directory per target; each file was a fault once
SLOW = {"find": 100, "multipart": 100, "parcels": 5, "office": 40}
USUAL = 300  # inputs of a target by chance: some seconds for all of them
SECONDS = 10  # of the processor; the whole suite runs in this process, warm or not


def inputs(target: Target) -> list[bytes]:
    """Return good inputs, those that were faults, and the same random ones every time."""
    chance = random.Random(target.name)  # noqa: S311 - inputs, no secrets
    good = list(target.seeds())
    found = [file.read_bytes() for file in sorted((FOUND / target.name).glob("*"))]

    def change(piece: bytes) -> bytes:
        if chance.random() < 0.02:
            return repeated(piece, 2_000, chance)
        return mutated(piece, target.words, target.longest, chance)

    made: list[bytes] = []
    for _ in range(SLOW.get(target.name, USUAL)):
        one = chance.choice(good)
        made.append(change(one) if target.knead is None else target.knead(one, change, chance))
    return [*good, *found, *made]


@pytest.mark.filterwarnings("ignore")  # of zipfile about names given twice, of bs4 about odd pages
@pytest.mark.parametrize("name", TARGETS)
def test_every_input_is_taken_or_refused(name: str) -> None:
    target = TARGETS[name]
    with target.opened() as run:
        for data in inputs(target):
            fault = fault_of(run, data, SECONDS)
            assert fault is None, f"{data[:2_000]!r}\n{fault.told}"


def test_found_inputs_belong_to_a_target() -> None:
    assert {place.name for place in FOUND.iterdir()} <= set(TARGETS)


def test_the_guard_tells_faults_from_refusals() -> None:
    def refuse(data: bytes) -> None:
        raise InvalidArgumentError(data.decode())

    def fail(_data: bytes) -> None:
        raise UnavailableError("the disk is gone")

    def stumble(data: bytes) -> None:
        {}[data]

    def hang(_data: bytes) -> None:
        while True:
            try:
                sum(range(1_000))
            except Exception:  # noqa: BLE001, S112 - it shall not stop the guard
                continue

    assert fault_of(refuse, b"no", 1) is None
    for run, kind in ((fail, "UnavailableError"), (stumble, "KeyError"), (hang, "Hang")):
        fault = fault_of(run, b"x", 0.1)
        assert fault is not None
        assert fault.kind == kind
        assert fault.place.endswith(f"test_short.py:{run.__name__}")


def test_the_table_counts_inputs_branches_and_findings() -> None:
    score = Score("zip", seconds=90)
    score.add(
        "#40\tINITED cov: 21 ft: 3\nFOUND a/zip-1: KeyError in x\n#70\tDONE   cov: 33 ft: 9\n"
    )
    score.add("#5\tINITED cov: 33 ft: 9\n")
    assert score.row().split() == ["zip", "1.5", "75", "21", "->", "33", "1"]


@pytest.mark.slow
def test_the_whole_of_it_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz.parsers", "--minutes", "0.1", "--only", "uri"]
    done = subprocess.run(  # noqa: S603
        [*command, "--keep", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = {line for line in done.stdout.splitlines() if line.startswith("uri")}
    assert int(row.split()[2].replace(",", "")) > 10


def test_a_finding_is_made_small() -> None:
    assert shrunk(b"much <![ more" * 9, lambda data: b"<![" in data) == b"<!["


def test_an_export_is_mended() -> None:
    plain = exports()[0]
    assert mended(plain) == mended(mended(plain).replace(b'"sha256": "', b'"sha256": "0'))
