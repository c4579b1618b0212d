"""What somebody who looks at a deployment is told of each thing."""

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """How a thing is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, what was seen, and what to do about it."""

    what: str
    verdict: Verdict
    line: str
    next_step: str = ""

    def as_json(self) -> dict[str, str]:
        """Return it for a program."""
        return {
            "what": self.what,
            "verdict": self.verdict.value,
            "line": self.line,
            "next_step": self.next_step,
        }
