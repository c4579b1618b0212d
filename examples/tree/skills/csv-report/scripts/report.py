"""Totals of a CSV file by one column: `report.py FILE --by COLUMN`."""

import argparse
import csv
import statistics
from collections import defaultdict
from pathlib import Path


def main() -> None:
    """Print one line per group and numeric column."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--by", required=True)
    arguments = parser.parse_args()
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    with arguments.file.open(encoding="utf-8-sig", newline="") as lines:
        for row in csv.DictReader(lines):
            for column, cell in row.items():
                if column != arguments.by and cell.replace(".", "", 1).isdigit():
                    groups[row[arguments.by], column].append(float(cell))
    for (group, column), values in sorted(groups.items()):
        mean = statistics.mean(values)
        print(f"{group}\t{column}\t{len(values)}\t{sum(values):g}\t{mean:g}\t{min(values):g}\t{max(values):g}")


if __name__ == "__main__":
    main()
