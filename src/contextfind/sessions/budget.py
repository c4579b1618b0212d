"""What of a session goes into a prompt of bounded size."""

from collections.abc import Sequence
from dataclasses import dataclass

from contextfind.domain.conversation import Archive, ArchiveState, SessionMessage
from contextfind.domain.tokens import estimated_tokens

# Of the budget: a summary this short is worth more than the few messages it takes the place of.
_OVERVIEW_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What is told of a session.

    overview: of the newest archive that has one; empty when it did not fit. abstracts: archives
        before that one whose abstracts fit. messages: the last ones. Both oldest first.
    message_tokens, archive_tokens: what they cost together, and what the summaries cost.
    """

    overview: str
    abstracts: Sequence[Archive]
    messages: Sequence[SessionMessage]
    message_tokens: int
    archive_tokens: int


def within(
    budget: int, messages: Sequence[SessionMessage], archives: Sequence[Archive]
) -> SessionContext:
    """Return the last messages and the summaries of archives that cost at most `budget` tokens.

    The last message is always there, whatever it costs. Then come a short overview, messages from
    the newest back to the first that does not fit, a long overview, and abstracts from the newest.

    messages: those no summary stands for, oldest first. archives: newest first.
    """
    told = summarised(archives)
    overview = told[0].overview if told else ""
    price = estimated_tokens(overview)
    left = budget - sum(message.tokens for message in messages[-1:])
    short = price <= min(left, budget * _OVERVIEW_SHARE)
    kept = _newest(messages, budget - price if short else budget)
    spent = sum(message.tokens for message in kept)
    if spent + price > budget:
        overview, price = "", 0
    abstracts: list[Archive] = []
    for archive in (one for one in told[1:] if one.abstract):
        cost = estimated_tokens(archive.abstract)
        if spent + price + cost > budget:
            break
        abstracts.insert(0, archive)
        price += cost
    return SessionContext(overview, abstracts, kept, spent, price)


def summarised(archives: Sequence[Archive]) -> list[Archive]:
    """Return those that have their summary, in the same order."""
    return [archive for archive in archives if archive.state is ArchiveState.DONE]


def _newest(messages: Sequence[SessionMessage], budget: int) -> Sequence[SessionMessage]:
    """Return the longest end of the list that costs at most `budget`, at least the last one."""
    start = max(len(messages) - 1, 0)
    spent = sum(message.tokens for message in messages[start:])
    while start > 0 and spent + messages[start - 1].tokens <= budget:
        start -= 1
        spent += messages[start].tokens
    return messages[start:]
