"""A conversation as a language model is told it, within a budget of tokens."""

import json
from collections.abc import Mapping, Sequence

from contextfind.domain.conversation import SessionMessage
from contextfind.domain.tokens import estimated_tokens, shortened
from contextfind.sessions.excerpt import quotes, who_said

LAST_WHOLE = 5  # messages at the end that are told in any case: what is open stands there
# What is told of one message at most, as a part of the budget: so that the last ones always fit,
# and with them half of the budget is left for the rest.
_SHARE = 12
_NEWEST = 0.65  # of the budget, when not all fits: what was said last is asked about most
_OLDEST = 0.1  # what it began with
_FRAME = 8  # tokens of JSON around a message beside the names in it
_BETWEEN = 60  # tokens of JSON around what is quoted from between
_QUOTE_FRAME = 1  # a comma and a blank
_CHARACTERS = 3  # of a token, at least, in most texts; more quotes than fit are taken back
_Entry = Mapping[str, object]


def told_within(messages: Sequence[SessionMessage], budget: int) -> list[_Entry]:
    """Return entries for the messages, oldest first, that cost at most `budget` tokens as JSON.

    Each has `who`, `at` (the day) and `said`; of a message that is too long beginning and end. When
    not all fits, the beginning and the newest part are told, the last LAST_WHOLE in any case, and
    between them stands one entry with `left_out`, how many messages are not told, and `quotes`, the
    sentences from among them that say most. Messages without text are passed over.
    """
    telling = [message for message in messages if message.text.strip()]
    longest = budget // _SHARE
    entries: dict[int, _Entry] = {}
    spent = 0
    for at in range(len(telling) - 1, -1, -1):
        entry = _entry(telling[at], longest)
        price = _price(entry)
        if spent + price > budget:
            break
        spent += price
        entries[at] = entry
    if len(entries) == len(telling):
        return [entries[at] for at in range(len(telling))]
    return _with_gap(telling, entries, budget)


def _with_gap(
    telling: Sequence[SessionMessage], newest: Mapping[int, _Entry], budget: int
) -> list[_Entry]:
    """Return the beginning, quotes from between, and the newest part."""
    last: list[_Entry] = []
    spent = 0
    for at in range(len(telling) - 1, -1, -1):
        price = _price(newest[at]) if at in newest else budget
        if len(last) >= LAST_WHOLE and spent + price > budget * _NEWEST:
            break
        last.insert(0, newest[at])
        spent += price
    first: list[_Entry] = []
    room = min(budget * _OLDEST, budget - spent - _BETWEEN)
    for message in telling[: len(telling) - len(last)]:
        entry = _entry(message, budget // _SHARE)
        room -= _price(entry)
        if room < 0:
            break
        first.append(entry)
        spent += _price(entry)
    between = telling[len(first) : len(telling) - len(last)]
    return [*first, _left_out(between, budget - spent - _BETWEEN), *last]


def _left_out(between: Sequence[SessionMessage], room: int) -> _Entry:
    said: list[str] = []
    for one in quotes(between, max(room, 0) * _CHARACTERS):
        line = f"{one.who}: {one.said}"
        room -= _cost(line) + _QUOTE_FRAME
        if room < 0:
            break
        said.append(line)
    return {"left_out": len(between), "quotes": said}


def _entry(message: SessionMessage, tokens: int) -> _Entry:
    said = _within(message.text.strip(), tokens)
    return {"who": who_said(message), "at": f"{message.created_at:%Y-%m-%d}", "said": said}


def _price(entry: _Entry) -> int:
    return _FRAME + sum(_cost(str(value)) for value in entry.values())


def _cost(text: str) -> int:
    """Return what a text costs inside JSON, where quotes and line breaks are two characters."""
    return estimated_tokens(json.dumps(text, ensure_ascii=False))


def _within(text: str, tokens: int) -> str:
    """Return the text, of a longer one beginning and end, at most so many tokens inside JSON."""
    room, said = tokens, shortened(text, tokens)
    while room > 0 and _cost(said) > tokens:  # quotes and line breaks are longer there
        room -= max(room // 8, 1)
        said = shortened(text, room)
    return said
