"""Requests that work, in an order in which each finds what the former ones made; run by a test."""

from collections.abc import Mapping

FILE = "viking://resources/handbook/release/rollback.md"
DIRECTORY = "viking://resources/handbook"

WRITE: Mapping[str, object] = {
    "a file, findable when answered": {
        "uri": FILE,
        "content": "# Rollback\n\nStop the canary, then run `atlasctl rollback TKX-7741`.\n",
        "tags": ["team=ops", "lang=en"],
        "wait": True,
    },
    "more text at its end": {"uri": FILE, "content": "Tell the on-call.\n", "mode": "append"},
}

REINDEX: Mapping[str, object] = {
    "everything the caller may see": {},
    "a part of the tree, as a task": {"uri": DIRECTORY, "wait": False},
}

FIND: Mapping[str, object] = {
    "a question": {"query": "How do I roll back a release?"},
    "only files of one directory, with their text": {
        "query": "rollback",
        "target_uri": DIRECTORY,
        "level": 2,
        "limit": 3,
        "read_content": True,
    },
    "a filter": {
        "query": "rollback",
        "filter": {
            "op": "and",
            "conds": [
                {"op": "must", "field": "context_type", "conds": ["resource"]},
                {"op": "must_not", "field": "tags", "conds": ["state=draft"]},
                {"op": "prefix", "field": "uri", "prefix": DIRECTORY},
            ],
        },
    },
    "tags and times": {
        "query": "rollback",
        "tags": ["team=ops"],
        "since": "7d",
        "time_field": "created_at",
        "score_threshold": 0.1,
    },
    "no query: what is new, newest first": {"context_type": "resource", "since": "24h"},
    "what it cost": {"query": "TKX-7741", "telemetry": True},
    "how it was found": {"query": "TKX-7741", "include_provenance": True},
}

SEARCH: Mapping[str, object] = {
    "a question, and the plan that was made of it": {"query": "How do I roll back a release?"},
    "in a session, with the walk": {
        "query": "and if that fails?",
        "session_id": "session-1",
        "target_uri": DIRECTORY,
        "include_provenance": True,
        "telemetry": True,
    },
    "a block for a prompt, without what the last turns showed": {
        "query": "How do I roll back a release?",
        "mode": "context",
        "session_id": "session-1",
        "purpose": "coding",
        "max_tokens": 800,
        "dedup_turns": 5,
        "telemetry": True,
    },
}
RECALL: Mapping[str, object] = {
    "memories as a block": {"query": "How do I roll back a release?", "max_chars": 6500}
}

BATCH: Mapping[str, object] = {
    "a file where nothing is, another one whatever is there": {
        "root_uri": DIRECTORY,
        "operations": [
            {
                "uri": "viking://resources/handbook/release/canary.md",
                "content": "# Canary\n\nOne host in a hundred, for an hour.\n",
                "precondition": {"kind": "create_if_absent"},
            },
            {
                "uri": "viking://resources/handbook/release/freeze.md",
                "content": "# Freeze\n\nNothing is released on Fridays.\n",
            },
        ],
        "wait": True,
    }
}

GREP: Mapping[str, object] = {
    "a word in any case, with its lines": {
        "uri": DIRECTORY,
        "pattern": "atlasctl +rollback",
        "case_insensitive": True,
        "node_limit": 20,
    }
}
GLOB: Mapping[str, object] = {
    "all Markdown files below a directory": {"uri": DIRECTORY, "pattern": "**/*.md"}
}

SESSION: Mapping[str, object] = {
    "one with a fresh id": {},
    "one with an id of your own": {"session_id": "session-1"},
}
SETTINGS: Mapping[str, object] = {
    "what another client of the session shall know": {"memory_policy": {"enabled": True}}
}
MESSAGE: Mapping[str, object] = {
    "a text": {"role": "user", "content": "How do I roll back a release?", "id": "m-1"},
    "parts": {
        "role": "assistant",
        "parts": [
            {"type": "text", "text": "Stop the canary first."},
            {"type": "context", "uri": FILE, "abstract": "How a release is rolled back."},
            {"type": "tool", "tool_name": "atlasctl", "tool_output": "canary stopped"},
        ],
    },
}
MESSAGES: Mapping[str, object] = {
    "a question and its answer": {
        "messages": [
            {"role": "user", "content": "那怎么回滚？", "created_at": "2026-03-01T12:00:00Z"},
            {"role": "assistant", "content": "先停止金丝雀发布。"},
        ]
    }
}
COMMIT: Mapping[str, object] = {
    "all that was said": {},
    "all but the last two messages": {"keep_recent_count": 2},
}
UNUSED: Mapping[str, object] = {"whatever earlier clients send": {"contexts": [FILE]}}

MKDIR: Mapping[str, object] = {
    "a directory": {"uri": "viking://resources/handbook/drafts", "description": "Not yet agreed."}
}

MOVE: Mapping[str, object] = {
    "a directory, to another name": {
        "from_uri": "viking://resources/handbook/drafts",
        "to_uri": "viking://resources/handbook/ideas",
    }
}
SET_TAGS: Mapping[str, object] = {
    "these and no others": {"uri": FILE, "tags": ["team=ops", "lang=en", "state=final"]},
    "one more, for every file of a directory": {
        "uri": DIRECTORY,
        "tags": ["kind=handbook"],
        "mode": "append",
        "recursive": True,
    },
}

ADD: Mapping[str, object] = {
    "an upload, as a task": {
        "temp_file_id": "the id from temp_upload",
        "source_name": "guide.md",
        "parent": DIRECTORY,
    },
    "an upload, waited for": {
        "temp_file_id": "the id from temp_upload",
        "to": "viking://resources/guides",
        "tags": ["team=ops"],
        "wait": True,
        "timeout": 60,
    },
}

_CSV_REPORT = (
    "---\nname: csv-report\ndescription: Make a CSV report from a table.\n---\n\n"
    "# CSV report\n\nTake the table, write one line per row.\n"
)
SKILL: Mapping[str, object] = {
    "the text of a SKILL.md, for the caller alone": {"data": _CSV_REPORT, "wait": True},
    "its parts, for the whole account": {
        "data": {
            "name": "release-notes",
            "description": "Write the notes of a release.",
            "content": "# Release notes\n\nBegin with what changes for users.\n",
        },
        "target_uri": "viking://agent/skills",
        "wait": True,
    },
}
SKILL_UPDATE: Mapping[str, object] = {
    "another text": {"data": _CSV_REPORT, "wait": True},
    "its parts, without its name": {
        "data": {"description": "Make a CSV report.", "content": "# CSV report\n"}
    },
}
SKILL_FIND: Mapping[str, object] = {"what is to be done": {"query": "turn this table into a CSV"}}
SKILL_JUDGE: Mapping[str, object] = {
    "a good one": {"data": _CSV_REPORT},
    "one without a description": {"data": "---\nname: csv-report\n---\n", "strict": True},
}

CONSISTENCY: Mapping[str, object] = {"a part of the tree": {"uri": DIRECTORY}}

WAIT: Mapping[str, object] = {"at most ten seconds": {"timeout": 10}}

ACCOUNT: Mapping[str, object] = {
    "a tenant and its first user": {"account_id": "acme", "admin_user_id": "ann"}
}
USER: Mapping[str, object] = {"one more user": {"user_id": "ben", "role": "user"}}
ROLE: Mapping[str, object] = {"an admin of the account": {"role": "admin"}}
KEY: Mapping[str, object] = {
    "a key for a machine": {"account_id": "acme", "user_id": "ben", "label": "laptop"}
}
