"""Sixty questions over a bilingual tree: the same bytes five times, after a restart, without the index."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.api.living import packed
from tests.backends import lose_index
from tests.processes import ServerProcess

TOPICS = {
    "deploy": ("Deployment", "发布流程", "canary", "灰度发布"),
    "rollback": ("Rollback", "回滚步骤", "revert", "恢复数据库"),
    "oncall": ("On call", "值班手册", "pager", "告警升级"),
    "backup": ("Backup", "备份策略", "snapshot", "异地副本"),
    "billing": ("Billing", "计费规则", "invoice", "发票开具"),
    "search": ("Search", "检索原理", "ranking", "相关性打分"),
}
CODE = 'def {name}_handler(request):\n    """Handle {name}."""\n    return {name}Service().run(request)\n'

PLAIN = [
    *(f"how does the {word} of {title.lower()} work" for title, _, word, _ in TOPICS.values()),
    *(f"{word} {title} checklist" for title, _, word, _ in TOPICS.values()),
    *(f"如何{more}" for _, _, _, more in TOPICS.values()),
    *(f"{title}的注意事项" for _, title, _, _ in TOPICS.values()),
    *(f"{name}_handler" for name in TOPICS),
    "TKX-7741",
    "BackupService",
    "rollbackService run request",
    "canary 灰度",
    "nothing of this is written anywhere",
    "数据库 database restore",
]
RESOURCES = "viking://resources"
BOUNDED: list[dict[str, object]] = [
    {"query": "checklist", "target_uri": f"{RESOURCES}/en"},
    {"query": "checklist", "target_uri": [f"{RESOURCES}/en/deploy", f"{RESOURCES}/zh"]},
    {"query": "检查清单", "target_uri": f"{RESOURCES}/zh", "limit": 100},
    {"query": "handler", "level": 2, "limit": 50},
    {"query": "handler", "level": "0,1"},
    {"query": "checklist", "score_threshold": 0.3},
    {"query": "回滚", "read_content": True, "limit": 3},
    {"query": "paging", "context_type": "memory"},
    {"query": "report", "context_type": ["skill", "memory"]},
    {"query": "checklist", "tags": ["lang=en"]},
    {"query": "检查清单", "tags": ["lang=zh", "kind=doc"]},
    {"query": "checklist", "since": "2020-01-01"},
    {"query": "checklist", "until": "2020-01-01"},
    {"tags": ["lang=zh"], "limit": 100},
    {"tags": ["kind=code"]},
    {"context_type": "resource", "limit": 100},
    {"context_type": "memory,skill", "level": 2},
    {"since": "2020-01-01", "limit": 40},
    {"query": "checklist", "filter": {"op": "must", "field": "level", "conds": [0, 1]}},
    {"query": "清单", "filter": {"op": "contains", "field": "name", "substring": "清单"}},
    {
        "filter": {
            "op": "and",
            "conds": [
                {"op": "must", "field": "uri", "conds": [f"{RESOURCES}/code"]},
                {"op": "must_not", "field": "name", "conds": ["deploy.py"]},
                {"op": "range", "field": "level", "gt": 1},
            ],
        }
    },
    {
        "query": "handler",
        "filter": {
            "op": "or",
            "conds": [
                {"op": "prefix", "field": "uri", "prefix": f"{RESOURCES}/code/b"},
                {"op": "must", "field": "tags", "conds": ["lang=zh"]},
            ],
        },
    },
    {
        "query": "canary",
        "filter": {"op": "not", "cond": {"op": "must", "field": "level", "conds": 2}},
    },
    {"query": "x", "include_provenance": True, "limit": 5},
]
QUESTIONS: list[dict[str, object]] = [*({"query": text} for text in PLAIN), *BOUNDED]


def trees() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Yield directory, tags and files, some of them nearly the same."""
    english, chinese, code = {}, {}, {}
    for name, (title, zh, word, more) in TOPICS.items():
        code[f"{name}.py"] = CODE.format(name=name)
        for part in range(5):
            english[f"{name}/part{part}.md"] = (
                f"# {title} {part}\n\nThe {word} checklist of {title.lower()}.\n\n"
                f"## Steps\n\nStep {part}: {word}, then tell TKX-774{part}.\n"
            )
            chinese[f"{zh}/清单{part}.md"] = (
                f"# {zh}\n\n{more}的检查清单, 第{part}步。\n\n## 步骤\n\n先{more}, 再通知值班人员。\n"
            )
    yield "en", ["lang=en", "kind=doc"], english
    yield "zh", ["lang=zh", "kind=doc"], chinese
    yield "code", ["kind=code"], code


def build(server: ServerProcess) -> None:
    for name, tags, files in trees():
        sent = {"file": (f"{name}.zip", packed(files), "application/zip")}
        upload = server.call("POST", "/api/v1/resources/temp_upload", files=sent)
        added = {"temp_file_id": upload["temp_file_id"], "to": f"{RESOURCES}/{name}", "tags": tags}
        server.call("POST", "/api/v1/resources", json={**added, "wait": True})
    for uri, content in (
        ("viking://~/memories/paging.md", "The user hates paging at night."),
        ("viking://agent/skills/csv/SKILL.md", "---\nname: csv\ndescription: make a report\n---\n"),
    ):
        server.call("POST", "/api/v1/content/write", json={"uri": uri, "content": content})
    server.call("POST", "/api/v1/system/wait", json={"timeout": 30})


def answers(server: ServerProcess) -> list[bytes]:
    found = [server.http.post("/api/v1/search/find", json=asked) for asked in QUESTIONS]
    assert [answer.status_code for answer in found] == [200] * len(QUESTIONS)
    return [answer.content for answer in found]


def test_R014_R103_sixty_questions_give_the_same_bytes_whatever_happened_between(  # noqa: N802
    tmp_path: Path,
) -> None:
    assert len({json.dumps(asked) for asked in QUESTIONS}) == 60
    data = tmp_path / "data"
    with ServerProcess(data) as server:
        server.start().wait_healthy()
        build(server)
        first = answers(server)
        assert len(set(first)) > 50  # the questions are different ones
        for _ in range(4):
            assert answers(server) == first
        assert server.stop() == 0
    with ServerProcess(data) as server:
        server.start().wait_healthy()
        assert answers(server) == first
        assert server.stop() == 0
    lose_index(data)
    with ServerProcess(data) as server:
        server.start().wait_healthy()
        assert answers(server) == first
