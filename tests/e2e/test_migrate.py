"""`contextfind migrate` between two real servers: everything once, the rest later, and what cannot be brought."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from contextfind.cli.migration import BATCH_FILES, Find, batches
from tests.crash.program import ForkedServer
from tests.processes import ServerProcess
from tests.unit.cli.calling import call

WRITE = "/api/v1/content/write"
SKILL = (
    "---\nname: roll-back\ndescription: Undo a bad release.\n---\n# Roll back\n\nRun atlasctl.\n"
)
TEXTS = {
    "viking://resources/guides/发布 流程.md": "# 发布\n\n先停止金丝雀发布。\n",
    "viking://resources/guides/deep/rollback.md": "# Rollback\n\nRun atlasctl rollback TKX-7741.\n",
    "viking://user/default/memories/preferences/tea.md": "I drink green tea in the morning.\n",
}


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    room = tmp_path_factory.mktemp("migrate")
    with ForkedServer(room / "old") as old, ForkedServer(room / "new") as new:
        old.start()
        new.start()
        old.wait_healthy()
        new.wait_healthy()
        for uri, text in TEXTS.items():
            old.call("POST", WRITE, json={"uri": uri, "content": text, "tags": ["from=old"]})
        old.call("POST", "/api/v1/skills", json={"data": SKILL, "wait": True})
        yield old, new


def migrate(old: ServerProcess, new: ServerProcess, *options: str) -> Any:
    done = call("migrate", old.url, "--url", new.url, "--json", *options)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_files_memories_and_skills_are_brought_and_found(servers) -> None:
    old, new = servers
    first = migrate(old, new)
    assert first == {"written": len(TEXTS) + 1, "unchanged": 0, "failed": {}, "untagged": {}}
    new.call("POST", "/api/v1/system/wait", json={})
    for uri, text in TEXTS.items():
        assert new.call("GET", "/api/v1/content/read", params={"uri": uri}) == text
        assert new.call("GET", "/api/v1/fs/attrs", params={"uri": uri})["attrs"]["tags"] == [
            "from=old"
        ]
    assert new.find("TKX-7741")[0]["uri"] == "viking://resources/guides/deep/rollback.md"
    (tea,) = [hit for hit in new.find("green tea") if hit["level"] == 2][:1]
    assert tea["context_type"] == "memory"
    skills = new.call("GET", "/api/v1/skills")["skills"]
    assert [one["name"] for one in skills] == ["roll-back"]

    assert migrate(old, new)["written"] == 0  # all of it is there
    changed = {"uri": next(iter(TEXTS)), "content": "# 发布\n\n先停止金丝雀发布，然后等待。\n"}
    old.call("POST", WRITE, json=changed)
    old.call("POST", WRITE, json={"uri": "viking://resources/new.md", "content": "New.\n"})
    assert migrate(old, new)["written"] == 2
    assert migrate(old, new, "--all", "--below", "viking://~/memories")["written"] == 1


def test_what_is_no_address_or_no_server_is_said(servers) -> None:
    old, new = servers
    wrong = call("migrate", old.url, "--url", new.url, "--below", "docs")
    assert wrong.exit_code == 2
    assert "--below" in wrong.output
    nobody = call("migrate", "http://127.0.0.1:9", "--url", new.url)
    assert nobody.exit_code == 4
    assert len(nobody.output.splitlines()) == 1


def test_a_request_holds_a_bounded_number_of_files_and_bytes_of_one_root() -> None:
    def files(root: str, count: int, size: int) -> list[Find]:
        return [Find("", f"viking://{root}/{at}", size, ()) for at in range(count)]

    made = batches([*files("resources", BATCH_FILES + 1, 1), *files("user/ann", 3, 5_000_000)])
    assert [len(batch) for batch in made] == [BATCH_FILES, 1, 1, 1, 1]
