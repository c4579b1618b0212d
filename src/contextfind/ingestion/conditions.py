"""Files that are written only if what is there is what the caller thinks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from contextfind.domain.errors import ConflictError
from contextfind.domain.records import Record
from contextfind.domain.uri import Uri
from contextfind.ingestion.drafting import digest_of

Condition = Literal["none", "absent", "same"]
Effect = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class WriteOrder:
    """A file to be written. absent: only if nothing is there; same: only if it has the digest `base`."""

    uri: Uri
    data: bytes
    condition: Condition = "none"
    base: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that was not written, and why."""

    uri: Uri
    reason: str


@dataclass(slots=True)
class BatchWritten:
    """What became of the files of a batch, each in order; `position` in the log."""

    created: list[Uri] = field(default_factory=list)
    updated: list[Uri] = field(default_factory=list)
    unchanged: list[Uri] = field(default_factory=list)
    conflicts: list[Refusal] = field(default_factory=list)
    position: int = 0

    def include(self, order: WriteOrder, effect: Effect | Refusal) -> bool:
        """Note what becomes of a file; return whether it is to be written."""
        match effect:
            case Refusal():
                self.conflicts.append(effect)
            case "created":
                self.created.append(order.uri)
            case "updated":
                self.updated.append(order.uri)
            case "unchanged":
                self.unchanged.append(order.uri)
        return effect in ("created", "updated")


def effect_of(order: WriteOrder, here: Sequence[Record]) -> Effect | Refusal:
    """Return what writing a file would come to, given what is at its address.

    What is there already as it should be is unchanged whatever the condition says: so a batch can be sent again.
    """
    old = next((record for record in here if record.is_leaf), None)
    if old is None:
        if order.condition == "same":
            return Refusal(order.uri, "nothing is there")
        return "created"
    digests = (old.content, old.source)  # of its text, and of the bytes it was made from
    if digest_of(order.data) in digests:
        return "unchanged"
    if order.condition == "absent":
        return Refusal(order.uri, "it is there, with another content")
    if order.condition == "same" and order.base not in digests:
        return Refusal(order.uri, f"it has changed: its content is sha256:{old.content}")
    return "updated"


def refused(conflicts: Sequence[Refusal]) -> ConflictError:
    """Return the error for a batch of which some files cannot be written: then none is."""
    first = conflicts[0]
    more = f" (and {len(conflicts) - 1} more)" if len(conflicts) > 1 else ""
    return ConflictError(
        f"nothing was written: {first.uri.text!r}: {first.reason}{more}",
        {"conflicts": [{"uri": one.uri.text, "reason": one.reason} for one in conflicts]},
    )
