"""Ask a server of our own what another server of this API was asked, and list what is different.

    make replay WIRE=path/to/wire.jsonl

The file holds one exchange a line: `name`, `method`, `path`, `body`, `status`, `response`. Of the answer only the
shape is recorded: the names of fields, and their types in words. Everything is sent in order, with ids and files of
our own in place of theirs. A line is printed for each difference in status, error code or shape (a field that is
missing or has another type); more fields are no difference. Those that are meant stand in `differences.MEANT` with
their reasons; any other ends the program with 1.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.clients.differences import MEANT, differences
from tests.clients.recording import ROOT_KEY, Sender, archive, exchanges
from tests.processes import ServerProcess


def reason_of(name: str, told: str) -> str | None:
    """Return why a difference is meant, None for one that is not."""
    return next((one.reason for one in MEANT if one.covers(name, told)), None)


def main() -> int:
    """Print the differences and their number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path, help="exchanges, one JSON object a line")
    asked = exchanges(parser.parse_args().file)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory, ServerProcess(Path(directory)) as server:
        server.start({"CONTEXTFIND_SERVER__ROOT_API_KEY": ROOT_KEY}).wait_healthy()
        sender = Sender(server.http, archive(asked))
        for one in asked:
            told = differences(one.name, one.status, one.response, sender.send(one))
            reasons = [reason_of(one.name, line) for line in told]
            counts["alike" if not told else "new" if None in reasons else "meant"] += 1
            for line, reason in zip(told, reasons, strict=True):
                sys.stdout.write(f"{'NEW  ' if reason is None else 'meant'} {one.name}: {line}")
                sys.stdout.write("\n" if reason is None else f"  ({reason})\n")
    sys.stdout.write(
        f"{len(asked)} exchanges: {counts['alike']} answered alike, "
        f"{counts['meant']} differently as meant, {counts['new']} differently\n"
    )
    return 1 if counts["new"] else 0


if __name__ == "__main__":
    sys.exit(main())
