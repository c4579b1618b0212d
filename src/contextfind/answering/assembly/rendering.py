"""The block that goes into a prompt: one element for each entry, best first.

    <memory uri="viking://…" type="events" score="0.45" detail="full">
    the text
    </memory>
    <memory uri="viking://…" type="resources" score="0.31" detail="uri"/>

Texts stand as they were written, code and all, but none can end its own element, or the one clients
put around the block.
"""

import html
import re
from collections.abc import Sequence

from contextfind.answering.assembly.tiers import Head, Shown, Tier
from contextfind.domain.plain_text import plain_text

JOINT = "\n"
_OUR_TAGS = re.compile(r"<(?=\s*/?\s*(?:memory|openviking-context)\b)", re.IGNORECASE)


def rendered(entries: Sequence[Shown]) -> str:
    """Return the block; empty without entries."""
    return JOINT.join(block(entry.head, entry.tier, entry.text) for entry in entries)


def block(head: Head, tier: Tier, text: str) -> str:
    """Return one element."""
    address = html.escape(head.uri.text)
    opening = (
        f'<memory uri="{address}" type="{head.category}" score="{head.score:.2f}" detail="{tier}"'
    )
    return f"{opening}/>" if tier is Tier.URI else f"{opening}>\n{text}\n</memory>"


def quotable(text: str) -> str:
    """Return a text as it may stand in the block: none of our tags in it, no blank lines around it."""
    return _OUR_TAGS.sub("&lt;", plain_text(text)).strip("\n").rstrip()
