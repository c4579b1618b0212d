"""`python -m tests.crash --rounds 100`: what `make crash` runs."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.crash.rounds import Rounds

TELL_EVERY = 10


def main() -> None:
    """Run rounds and print what came of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="contextfind-crash-") as directory:
        rounds = Rounds(Path(directory) / "data", asked.seed)
        for number in range(1, asked.rounds + 1):
            rounds.run()
            if number % TELL_EVERY == 0:
                _tell(f"{number} of {asked.rounds}")
        rounds.finish()
    _tell(f"seed {asked.seed}: {rounds.toll}")


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
