"""The line in front of a passage: where it stands, and what of that means something to an embedder.

`atlas > release notes > p03 > Rollback`: the way to the file, its title, the headings. The word index
sees all of it, so that codes and names are found by letter. An embedder reads numbers and codes as
noise, and what every file of a resource has in common tells none of them apart: without them nDCG@10
rose by .009 on encyclopedia articles, docs/benchmarks.md.
"""

import re

JOINT = " > "

# `p03`, `1062`, `3447`, `v2`; a year says something.
_CODE = re.compile(r"(?!(?:19|20)\d\d$)[A-Za-z]{0,3}\d+[A-Za-z]?")
_SERIAL = re.compile(r"(?<!\S)[A-Z]{2,5} \d+(?!\S)")  # `DEV 1062`, `JIRA 77`


def telling(context: str) -> str:
    """Return the names of a context line that mean something: empty when none does.

    The first one, the resource's own, is left out where there are others; so are names made of codes
    alone, and serial numbers inside of names.
    """
    parts = context.split(JOINT)
    said = [_without_serials(part) for part in parts[len(parts) > 1 :]]
    return JOINT.join(part for part in said if not all(map(_CODE.fullmatch, part.split())))


def _without_serials(name: str) -> str:
    return " ".join(_SERIAL.sub(" ", name).split()) or name
