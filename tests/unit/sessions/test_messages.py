from datetime import timedelta

import pytest

from contextfind.sessions.messages import Said, message_of, readable
from tests.builders import NOON


def text(line):
    return {"type": "text", "text": line}


def test_what_a_caller_leaves_out_is_filled_in():
    message = message_of(Said("user", [text("Undo it")]), NOON, lambda: "id1")
    assert (message.id, message.created_at, message.text) == ("msg_id1", NOON, "Undo it")
    assert (message.role, message.parts, message.tokens) == ("user", [text("Undo it")], 2)


def test_what_a_caller_says_is_kept():
    earlier = NOON - timedelta(days=1)
    said = Said("alien", [text("x")], "m1", earlier, {"peer_id": "p"})
    message = message_of(said, NOON, lambda: "id1")
    assert (message.id, message.role, message.created_at) == ("m1", "alien", earlier)
    assert message.extra == {"peer_id": "p"}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([text("one"), text("two")], "one\ntwo"),
        ([text("  one\n"), text(" ")], "one"),
        ([{"type": "context", "uri": "viking://resources/a.md", "abstract": "about a"}], "about a"),
        (
            [
                {
                    "type": "tool",
                    "tool_name": "grep",
                    "tool_id": "7",
                    "tool_input": {"模式": "回滚"},
                    "tool_output": "3 lines",
                    "tool_status": "completed",
                }
            ],
            'grep\n{"模式": "回滚"}\n3 lines',
        ),
        ([{"type": "image", "url": "data:…"}, {"type": "note", "content": "hm"}], "hm"),
        ([{"type": "tool", "tool_input": {}, "tool_output": None, "text": 7}], ""),
        ([], ""),
    ],
)
def test_the_text_is_all_that_can_be_read_in_the_parts(parts, expected):
    assert readable(parts) == expected


def test_r149_chinese_stays_what_it_is_and_control_characters_do_not():
    assert readable([text("那怎么回滚\x00？")]) == "那怎么回滚 ？"
