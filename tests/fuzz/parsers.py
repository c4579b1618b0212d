"""Every parser under fire: `make fuzz-parsers MINUTES=10`, or `python -m tests.fuzz.parsers --help`.

Each target gets a process of its own (`tests.fuzz.attempt`), two at a time, started again where one dies
before its time is over. What was found is printed as it is found and lies in the directory of findings;
the table at the end says how long each ran and how many inputs it took.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.targets import TARGETS

_STARTS = 8  # of one target; one that dies more often than this is broken enough to be looked at
_SPARE = (
    120  # seconds beyond its time after which a process is ended: it does not even notice signals
)
_LEAST = 5  # seconds; with less left a restart is not worth its imports
_COVERED = re.compile(r"(INITED|DONE|REDUCE|NEW|pulse)\s.*?cov: (\d+)")
_CASES = re.compile(
    r"^(?:#(\d+)\s|stat::number_of_executed_units:\s+(\d+)|cases: (\d+))", re.MULTILINE
)


@dataclass
class Score:
    """What became of a target. covered: branches by the good inputs, and at the end; 0 where unknown."""

    name: str
    seconds: float = 0.0
    cases: int = 0
    covered: tuple[int, int] = (0, 0)
    findings: list[str] = field(default_factory=list)
    deaths: int = 0

    def add(self, output: str) -> None:
        """Take in what one process said."""
        numbers = [int(next(filter(None, found))) for found in _CASES.findall(output)]
        self.cases += max(numbers, default=0)
        branches = [int(number) for _, number in _COVERED.findall(output)]
        if branches:
            self.covered = self.covered[0] or branches[0], max(self.covered[1], *branches)
        self.findings += re.findall(r"^FOUND (.*)$", output, re.MULTILINE)

    def row(self) -> str:
        """Return its line of the table."""
        first, last = self.covered
        told = f"{first} -> {last}" if last else "-"
        failures = len(self.findings) + self.deaths
        return f"{self.name:<16}{self.seconds / 60:>9.1f}{self.cases:>12,}{told:>18}{failures:>10}"


def main() -> int:
    """Run all; the exit code is 0 when nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of each target")
    parser.add_argument("--only", default="", help=f"some of: {', '.join(TARGETS)}")
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep", type=Path, help="directory of findings and inputs; else a new one"
    )
    asked = parser.parse_args()
    names = [name.strip() for name in asked.only.split(",") if name.strip()] or list(TARGETS)
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    room = asked.keep or Path(tempfile.mkdtemp(prefix="fuzz-parsers-"))
    with ThreadPoolExecutor(asked.at_once) as pool:
        scores = list(pool.map(lambda name: _run(name, asked, room), names))
    say(f"\n{'target':<16}{'minutes':>9}{'cases':>12}{'branches':>18}{'failures':>10}")
    for score in scores:
        say(score.row())
    say(f"\nFindings and inputs: {room}")
    return 1 if any(score.findings or score.deaths for score in scores) else 0


def _run(name: str, asked: argparse.Namespace, room: Path) -> Score:
    score, began = Score(name), time.monotonic()
    for start in range(_STARTS):
        left = asked.minutes * 60 - (time.monotonic() - began)
        if start and left < _LEAST:
            break
        code, output = _once(name, room, max(int(left), 1), asked.seed + start)
        score.add(output)
        if code not in (0, 3):  # 3: it ended itself behind a hang, which it has told
            score.deaths += 1
            say(f"{name}: died with {code}\n{output[-3_000:]}")
    score.seconds = time.monotonic() - began
    say(score.row())
    return score


def _once(name: str, room: Path, seconds: int, seed: int) -> tuple[int, str]:
    findings, log = room / "findings", room / f"{name.replace(' ', '-')}-{seed}.log"
    findings.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "tests.fuzz.attempt", name, "--seconds", str(seconds), "--seed", str(seed),
        "--findings", str(findings), "--corpus", str(room / "inputs" / name.replace(" ", "-")),
    ]  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)  # noqa: S603
        try:
            code = process.wait(seconds + _SPARE)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
    output = log.read_text("utf-8", "replace")
    for found in re.findall(r"^FOUND .*?(?=^#|\Z)", output, re.MULTILINE | re.DOTALL):
        say(f"{name}: {found[:4_000]}")
    return code, output


def say(line: str) -> None:
    """Show a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
