"""openviking-sdk 0.1.17 against a real server: a test per method, blocking and awaited.

The last tests hold this file to the package: a method is called here, or it is known to be refused.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import Served

sdk_package = pytest.importorskip("openviking_sdk", reason="make test-clients")
errors = pytest.importorskip("openviking_sdk.errors")

SKILL = "---\nname: {0}\ndescription: Generate a CSV report\n---\n# {0}\n\nWrite a CSV.\n"
REFUSED: dict[str, Callable[["Sdk"], Any]] = {
    "acl_delete": lambda sdk: sdk.acl_delete(sdk.docs),
    "acl_get": lambda sdk: sdk.acl_get(sdk.docs),
    "acl_grant": lambda sdk: sdk.acl_grant(sdk.docs, "bob", "read"),
    "acl_revoke": lambda sdk: sdk.acl_revoke(sdk.docs, "bob"),
    "acl_set": lambda sdk: sdk.acl_set(sdk.docs, []),
    "admin_add_group_member": lambda sdk: sdk.root.admin_add_group_member("acme", "g", "bob"),
    "admin_create_group": lambda sdk: sdk.root.admin_create_group("acme", "g"),
    "admin_delete_account": lambda sdk: sdk.root.admin_delete_account("nobody"),
    "admin_delete_group": lambda sdk: sdk.root.admin_delete_group("acme", "g"),
    "admin_get_account": lambda sdk: sdk.root.admin_get_account("acme"),
    "admin_get_account_settings": lambda sdk: sdk.root.admin_get_account_settings("acme"),
    "admin_get_agent_evolution": lambda sdk: sdk.root.admin_get_agent_evolution(),
    "admin_list_group_members": lambda sdk: sdk.root.admin_list_group_members("acme", "g"),
    "admin_list_groups": lambda sdk: sdk.root.admin_list_groups("acme"),
    "admin_migrate": lambda sdk: sdk.root.admin_migrate(),
    "admin_remove_group_member": lambda sdk: sdk.root.admin_remove_group_member("acme", "g", "b"),
    "admin_set_account_agent_evolution": lambda sdk: sdk.root.admin_set_account_agent_evolution(
        "acme", enabled=True
    ),
    "admin_set_agent_evolution": lambda sdk: sdk.root.admin_set_agent_evolution(enabled=True),
    "backup_ovpack": lambda sdk: sdk.backup_ovpack(str(sdk.folder / "all.ovpack")),
    "compile": lambda sdk: sdk.compile([sdk.docs], sdk.at("compiled"), "csv"),
    "delete_watch": lambda sdk: sdk.delete_watch("x"),
    "export_ovpack": lambda sdk: sdk.export_ovpack(sdk.docs, str(sdk.folder / "x.ovpack")),
    "get_experience_outcomes": lambda sdk: sdk.get_experience_outcomes(sdk.docs),
    "get_watch": lambda sdk: sdk.get_watch("x"),
    "import_ovpack": lambda sdk: sdk.import_ovpack(str(sdk.folder / "docs/a.md"), sdk.docs),
    "list_experience_trajectories": lambda sdk: sdk.list_experience_trajectories(sdk.docs),
    "list_watches": lambda sdk: sdk.list_watches(),
    "preflight_openviking_asset": lambda sdk: sdk.preflight_openviking_asset("n", "http://x"),
    "resolve_openviking_assets": lambda sdk: sdk.resolve_openviking_assets("a: b"),
    "restore_ovpack": lambda sdk: sdk.restore_ovpack(str(sdk.folder / "docs/a.md")),
    "trigger_watch": lambda sdk: sdk.trigger_watch("x"),
    "update_watch": lambda sdk: sdk.update_watch("x", is_active=True),
    "git_log": lambda sdk: sdk.git_log(),
}
# The others of the same routes (snapshot/*), and what the package answers by itself.
ASIDE = {
    "git_commit", "git_delete_ignore", "git_diff", "git_diff_paths", "git_get_ignore", "git_restore",
    "git_set_ignore", "git_show", "snapshot", "supports_request_actor_peer", "close", "initialize",
}  # fmt: skip


class Flavour:
    """A client of the package; awaited methods are called on a loop of their own."""

    def __init__(self, client: Any, loop: asyncio.Runner | None) -> None:
        self._client = client
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            answer = found(*given, **named)
            if self._loop is not None and inspect.isawaitable(answer):
                return self._loop.run(self._awaited(answer))
            return answer

        return call

    @staticmethod
    async def _awaited(answer: Any) -> Any:
        return await answer


class Sdk(Flavour):
    """Alice's client, with that of the root key beside it, and a small tree of her own."""

    def __init__(self, name: str, folder: Path, clients: tuple[Any, Any], loop: Any) -> None:
        super().__init__(clients[0], loop)
        self.root = Flavour(clients[1], loop)
        self.name = name
        self.folder = folder
        self.docs = self.at("docs")

    def at(self, path: str) -> str:
        return f"viking://resources/{self.name}/{path}"


@pytest.fixture(scope="module", params=["blocking", "awaited"])
def sdk(
    request: pytest.FixtureRequest, served: Served, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sdk]:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "docs/sub").mkdir(parents=True)
    (folder / "docs/a.md").write_text("# Alpha\n\nRoll back with kubectl rollout undo.\n")
    (folder / "docs/sub/b.md").write_text("# Beta\n\nzebra pineapple\n")
    blocking = request.param == "blocking"
    kind = sdk_package.SyncHTTPClient if blocking else sdk_package.AsyncHTTPClient
    clients = (kind(url=served.url, api_key=served.key), kind(served.url, served.root_key))
    with asyncio.Runner() as loop:
        made = Sdk(request.param, folder, clients, None if blocking else loop)
        made.initialize()
        made.root.initialize()
        made.add_resource(str(folder / "docs"), to=made.docs, wait=True, options={"tags": ["t=x"]})
        yield made
        made.close()
        made.root.close()


def addresses(found: Any) -> list[str]:
    return [hit["uri"] for hit in found["resources"]]


def test_add_resource(sdk: Sdk) -> None:
    options = sdk_package.AddResourceOptions(
        reason="r", instruction="i", create_parent=True, strict=False, include="*.md",
        directly_upload_media=True, preserve_structure=True, watch_interval=0, tags=["k=v"],
        tag_mode="replace", telemetry=True,
    )  # fmt: skip
    added = sdk.add_resource(
        str(sdk.folder / "docs/a.md"), parent=sdk.at("single"), wait=True, options=options
    )
    assert added["status"] == "success"
    assert added["root_uri"] == sdk.at("single/a.md")
    assert added["errors"] == []
    later = sdk.add_resource(str(sdk.folder / "docs/a.md"), to=sdk.at("later/a.md"))
    assert later["task_id"]
    with pytest.raises(errors.PermissionDeniedError):
        sdk.add_resource("/nowhere/on/this/machine.md")


def test_wait_processed(sdk: Sdk) -> None:
    sdk.write(sdk.at("waited.md"), "quokka\n")
    assert all(queue["error_count"] == 0 for queue in sdk.wait_processed().values())
    assert sdk.at("waited.md") in addresses(sdk.find("quokka", target_uri=sdk.at("")))


def test_find(sdk: Sdk) -> None:
    options = sdk_package.FindOptions(
        tags=["t=x"], level=[2], read_content=True, include_provenance=True, telemetry=True,
        events_time_decay_protection="7d", since="2h", score_threshold=0.0, node_limit=3,
        filter={"op": "must", "field": "level", "conds": [2]}, context_type="resource",
    )  # fmt: skip
    found = sdk.find("roll back", target_uri=sdk.docs, options=options)
    best = found["resources"][0]
    assert best["uri"] == f"{sdk.docs}/a.md"
    assert "kubectl" in best["content"]
    assert found["total"] == len(found["resources"])
    assert found["provenance"]
    with pytest.raises(errors.InvalidArgumentError, match="image_url"):
        sdk.find("", image=b"\x89PNG\r\n\x1a\n")
    with pytest.raises(errors.InvalidURIError):
        sdk.find("x", target_uri="viking://nowhere/x")


def test_search(sdk: Sdk) -> None:
    options = sdk_package.SearchOptions(search_type="semantic", level=2)
    found = sdk.search("roll back", session_id="unknown", target_uri=sdk.docs, options=options)
    assert addresses(found)[0] == f"{sdk.docs}/a.md"
    assert found["query_plan"]["queries"]


def test_search_context(sdk: Sdk) -> None:
    options = sdk_package.SearchContextOptions(
        max_tokens=500, purpose="coding", quotas={"resources": 3}, detail="full", dedup_turns=2,
        exclude_uris=[], peer_scope="actor", other_peer_penalty=0.1, rewrite="auto",
        rewrite_max_bullets=3, query_expansion="auto",
    )  # fmt: skip
    block = sdk.search_context(
        "roll back", session_id=f"context-{sdk.name}", target_uri=sdk.docs, options=options
    )
    assert "kubectl" in block["rendered"]
    assert f"{sdk.docs}/a.md" in [entry["uri"] for entry in block["entries"]]
    assert block["stats"]["used_tokens"] <= 500


def test_ls(sdk: Sdk) -> None:
    listed = sdk.ls(sdk.docs)
    assert [(one["name"], one["isDir"]) for one in listed] == [("a.md", False), ("sub", True)]
    assert sdk.ls(sdk.docs, simple=True) == [f"{sdk.docs}/a.md", f"{sdk.docs}/sub"]
    with pytest.raises(errors.NotFoundError):
        sdk.ls(sdk.at("nothing"))


def test_ls_page(sdk: Sdk) -> None:
    page = sdk.ls_page(sdk.docs, output="agent", offset=0, limit=1)
    assert (page["result"][0]["name"], page["has_more"]) == ("a.md", True)
    assert page["result"][0]["abstract"].startswith("Alpha")
    assert not sdk.ls_page(sdk.docs, offset=1, limit=1)["has_more"]


def test_tree(sdk: Sdk) -> None:
    assert [one["rel_path"] for one in sdk.tree(sdk.docs)] == ["a.md", "sub", "sub/b.md"]


def test_tree_page(sdk: Sdk) -> None:
    page = sdk.tree_page(sdk.docs, output="agent", limit=2)
    assert ([one["rel_path"] for one in page["result"]], page["has_more"]) == (
        ["a.md", "sub"],
        True,
    )


def test_stat(sdk: Sdk) -> None:
    assert sdk.stat(sdk.docs)["count"] == 2
    assert not sdk.stat(f"{sdk.docs}/a.md")["isDir"]
    with pytest.raises(errors.NotFoundError):
        sdk.stat(sdk.at("nothing"))


def test_read(sdk: Sdk) -> None:
    assert sdk.read(f"{sdk.docs}/a.md") == "# Alpha\n\nRoll back with kubectl rollout undo.\n"
    assert sdk.read(f"{sdk.docs}/a.md", offset=2, limit=1).startswith("Roll back")


def test_read_raw(sdk: Sdk) -> None:
    assert sdk.read_raw(f"{sdk.docs}/a.md").startswith("# Alpha")


def test_abstract(sdk: Sdk) -> None:
    assert sdk.abstract(sdk.docs)


def test_overview(sdk: Sdk) -> None:
    assert "a.md" in sdk.overview(sdk.docs)


def test_download_bytes(sdk: Sdk) -> None:
    assert sdk.download_bytes(f"{sdk.docs}/sub/b.md") == b"# Beta\n\nzebra pineapple\n"


def test_write(sdk: Sdk) -> None:
    options = sdk_package.WriteOptions(tags=["k=v"], edit_source="agent", telemetry=True)
    written = sdk.write(sdk.at("w/n.md"), "# N\n", mode="create", wait=True, options=options)
    assert written["written_bytes"] == 4
    with pytest.raises(errors.AlreadyExistsError):
        sdk.write(sdk.at("w/n.md"), "again", mode="create")
    sdk.write(sdk.at("w/n.md"), "more\n", mode="append", wait=True)
    assert sdk.read(sdk.at("w/n.md")) == "# N\nmore\n"


def test_batch_write(sdk: Sdk) -> None:
    operation = {"uri": sdk.at("batch/1.md"), "content": "one\n", "mode": "create"}
    assert sdk.batch_write(sdk.at("batch"), [operation])["created"] == [sdk.at("batch/1.md")]
    options = sdk_package.BatchWriteOptions(skip_conflicts=True, defer_processing=True)
    again = sdk.batch_write(sdk.at("batch"), [operation], wait=False, options=options)
    assert again["created"] == []


def test_mkdir(sdk: Sdk) -> None:
    sdk.mkdir(sdk.at("made"), description="a place")
    assert sdk.stat(sdk.at("made"))["isDir"]
    with pytest.raises(errors.ConflictError):
        sdk.mkdir(sdk.at("made"))


def test_mv(sdk: Sdk) -> None:
    sdk.write(sdk.at("old.md"), "wombat\n", wait=True)
    sdk.mv(sdk.at("old.md"), sdk.at("new.md"))
    assert addresses(sdk.find("wombat", target_uri=sdk.at("")))[0] == sdk.at("new.md")


def test_attrs(sdk: Sdk) -> None:
    assert sdk.attrs(f"{sdk.docs}/a.md")["attrs"]["tags"] == ["t=x"]


def test_set_tags(sdk: Sdk) -> None:
    sdk.write(sdk.at("tagged.md"), "x\n", wait=True, options={"tags": ["a=b"]})
    assert sdk.set_tags(sdk.at("tagged.md"), ["c=d"], mode="append")["tags"] == ["a=b", "c=d"]


def test_grep(sdk: Sdk) -> None:
    found = sdk.grep(sdk.docs, "ZEBRA", case_insensitive=True, level_limit=3)
    assert [(one["uri"], one["line"]) for one in found["matches"]] == [(f"{sdk.docs}/sub/b.md", 3)]
    with pytest.raises(errors.InvalidArgumentError):
        sdk.grep(sdk.docs, "(")


def test_glob(sdk: Sdk) -> None:
    found = sdk.glob("**/*.md", sdk.docs)
    assert found["matches"] == [f"{sdk.docs}/a.md", f"{sdk.docs}/sub/b.md"]


def test_rm(sdk: Sdk) -> None:
    sdk.write(sdk.at("gone/x.md"), "numbat\n", wait=True)
    with pytest.raises(errors.InvalidArgumentError, match="recursive"):
        sdk.rm(sdk.at("gone"))
    sdk.rm(sdk.at("gone"), recursive=True, wait=True)
    assert sdk.at("gone/x.md") not in addresses(sdk.find("numbat", target_uri=sdk.at("")))
    sdk.rm(sdk.at("gone"))


def test_reindex(sdk: Sdk) -> None:
    assert sdk.reindex(sdk.docs)["status"] == "completed"
    assert sdk.reindex(sdk.docs, mode="semantic_and_vectors", wait=False)["task_id"]
    sdk.wait_processed()


def test_check_consistency(sdk: Sdk) -> None:
    assert sdk.check_consistency(sdk.docs)["ok"]


def test_list_tasks(sdk: Sdk) -> None:
    tasks = sdk.list_tasks(task_type="add_resource", status="completed", resource_id=sdk.docs)
    assert [task["resource_id"] for task in tasks] == [sdk.docs]
    assert len(sdk.list_tasks(limit=1)) == 1


def test_get_task(sdk: Sdk) -> None:
    task = sdk.list_tasks(limit=1)[0]
    assert sdk.get_task(task["task_id"])["task_id"] == task["task_id"]
    assert sdk.get_task("nothing") is None


def test_cancel_task(sdk: Sdk) -> None:
    task = sdk.list_tasks(resource_id=sdk.docs)[0]
    assert sdk.cancel_task(task["task_id"])["status"] == "completed"  # too late for it


def test_create_session(sdk: Sdk) -> None:
    options = sdk_package.CreateSessionOptions(memory_policy={"a": 1}, auto_commit_policy=None)
    made = sdk.create_session(f"made-{sdk.name}", options=options)
    assert made["session_id"] == f"made-{sdk.name}"
    with pytest.raises(errors.AlreadyExistsError):
        sdk.create_session(f"made-{sdk.name}")
    assert sdk.create_session()["session_id"]


def test_add_message(sdk: Sdk) -> None:
    talk = f"talk-{sdk.name}"
    options = sdk_package.AddMessageOptions(
        created_at="2026-01-01T00:00:00Z", peer_id="p", turn_id="1", message_kind="user_query"
    )
    assert sdk.add_message(talk, "user", "hello", options=options)["message_count"] == 1
    parts = [
        sdk_package.TextPart(text="hi"),
        sdk_package.ContextPart(uri=sdk.docs, context_type="resource", abstract="a"),
        sdk_package.ToolPart(tool_id="1", tool_name="x", tool_output="o", tool_status="completed"),
        sdk_package.ImagePart(url="https://example.org/y.png"),
    ]
    assert sdk.add_message(talk, "assistant", parts=parts)["message_count"] == 2


def test_batch_add_messages(sdk: Sdk) -> None:
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    assert sdk.batch_add_messages(f"batch-{sdk.name}", messages)["message_count"] == 2


def test_get_session(sdk: Sdk) -> None:
    talk = f"got-{sdk.name}"
    with pytest.raises(errors.NotFoundError):
        sdk.get_session(talk)
    assert sdk.get_session(talk, auto_create=True)["session_id"] == talk


def test_session_exists(sdk: Sdk) -> None:
    sdk.create_session(f"there-{sdk.name}")
    assert sdk.session_exists(f"there-{sdk.name}")
    assert not sdk.session_exists("nowhere")


def test_list_sessions(sdk: Sdk) -> None:
    sdk.create_session(f"listed-{sdk.name}")
    assert f"listed-{sdk.name}" in [one["session_id"] for one in sdk.list_sessions()]


def test_get_session_context(sdk: Sdk) -> None:
    sdk.add_message(f"told-{sdk.name}", "user", "hello")
    told = sdk.get_session_context(f"told-{sdk.name}", token_budget=1000)
    assert told["messages"][0]["parts"] == [{"type": "text", "text": "hello"}]
    assert told["stats"]["totalArchives"] == 0


def test_update_session_config(sdk: Sdk) -> None:
    sdk.create_session(f"config-{sdk.name}")
    options = sdk_package.UpdateSessionConfigOptions(auto_commit_policy={"x": 1})
    changed = sdk.update_session_config(f"config-{sdk.name}", options=options)
    assert changed["auto_commit_policy"] == {"x": 1}


def test_commit_session_and_get_session_archive(sdk: Sdk) -> None:
    talk = f"commit-{sdk.name}"
    sdk.batch_add_messages(talk, [{"role": "user", "content": word} for word in ("one", "two")])
    options = sdk_package.CommitSessionOptions(event_tags=["a=b"])
    done = sdk.commit_session(talk, keep_recent_count=1, options=options)
    assert (done["status"], done["archived"]) == ("accepted", True)
    sdk.wait_processed()
    assert sdk.get_task(done["task_id"])["status"] == "completed"
    archive = sdk.get_session_archive(talk, done["archive_uri"].rsplit("/", 1)[-1])
    assert archive["messages"][0]["parts"][0]["text"] == "one"
    assert sdk.get_session(talk)["commit_count"] == 1


def test_session(sdk: Sdk) -> None:
    talk = sdk.session(f"object-{sdk.name}")
    given = Flavour(talk, sdk._loop)
    given.add_message("user", "hello")
    assert given.get_session_context()["messages"]
    given.delete()


def test_delete_session(sdk: Sdk) -> None:
    sdk.create_session(f"deleted-{sdk.name}")
    sdk.delete_session(f"deleted-{sdk.name}")
    with pytest.raises(errors.NotFoundError):
        sdk.delete_session(f"deleted-{sdk.name}")


def test_add_skill_and_list_skills_and_get_skill(sdk: Sdk) -> None:
    name = f"csv-{sdk.name}"
    assert sdk.add_skill(SKILL.format(name), wait=True)["name"] == name
    folder = sdk.folder / "skill"
    folder.mkdir()
    (folder / "SKILL.md").write_text(SKILL.format(f"dir-{sdk.name}"))
    assert sdk.add_skill(str(folder), wait=True)["name"] == f"dir-{sdk.name}"
    assert {name, f"dir-{sdk.name}"} <= {one["name"] for one in sdk.list_skills()["skills"]}
    assert "Write a CSV" in sdk.get_skill(name, include_content=True)["content"]
    with pytest.raises(errors.NotFoundError):
        sdk.get_skill("nowhere")


def test_update_skill_and_find_skills_and_delete_skill(sdk: Sdk) -> None:
    name = f"changed-{sdk.name}"
    sdk.add_skill(SKILL.format(name), wait=True)
    sdk.update_skill(name, SKILL.format(name) + "echidna\n", wait=True)
    found = sdk.find_skills("echidna csv report", limit=2, level=[0, 1, 2])
    assert name in [one["name"] for one in found["skills"]]
    sdk.delete_skill(name)
    with pytest.raises(errors.NotFoundError):
        sdk.get_skill(name)


def test_validate_skill(sdk: Sdk) -> None:
    assert sdk.validate_skill(SKILL.format("x"), strict=True)["valid"]
    assert not sdk.validate_skill("no front matter")["valid"]


def test_health_and_is_healthy(sdk: Sdk) -> None:
    assert sdk.health() is True
    if sdk.name == "blocking":  # the awaited client asks this on another loop than the rest
        assert sdk.is_healthy()


def test_get_status_and_queue_status_and_models_status_and_vikingdb_status(sdk: Sdk) -> None:
    if sdk.name == "awaited":
        pytest.skip("the awaited client asks this on another loop than the rest, and breaks")
    assert set(sdk.get_status()["components"]) >= {"queue", "models", "vikingdb"}
    for name in ("queue_status", "models_status", "vikingdb_status"):
        assert isinstance(getattr(sdk, name)()["status"], str)
        assert isinstance(getattr(sdk, name)("json")["status"], dict)


def test_observer(sdk: Sdk) -> None:
    assert {"queue", "models", "vikingdb", "system"} <= set(dir(sdk.observer))


def test_admin_create_account_and_admin_list_accounts(sdk: Sdk) -> None:
    name = f"firm-{sdk.name}"
    assert sdk.root.admin_create_account(name, "carol")["user_key"]
    assert name in [one["account_id"] for one in sdk.root.admin_list_accounts()]
    with pytest.raises(errors.AlreadyExistsError):
        sdk.root.admin_create_account(name, "carol")
    assert [one["account_id"] for one in sdk.root.admin_list_accounts(name="acme")] == ["acme"]
    with pytest.raises(errors.PermissionDeniedError):
        sdk.admin_list_accounts()


def test_admin_users(sdk: Sdk) -> None:
    """admin_register_user, admin_list_users, admin_set_role, admin_regenerate_key, admin_remove_user."""
    name = f"dora-{sdk.name}"
    first = sdk.root.admin_register_user("acme", name)["user_key"]
    assert name in [one["user_id"] for one in sdk.root.admin_list_users("acme")]
    assert sdk.root.admin_set_role("acme", name, "admin")["role"] == "admin"
    assert sdk.root.admin_get_user("acme", name)["role"] == "admin"
    assert name not in [one["user_id"] for one in sdk.root.admin_list_users("acme", role="user")]
    assert sdk.root.admin_regenerate_key("acme", name)["user_key"] != first
    sdk.root.admin_remove_user("acme", name)
    assert name not in [one["user_id"] for one in sdk.root.admin_list_users("acme")]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_built_is_refused(sdk: Sdk, name: str) -> None:
    if sdk.name == "blocking" and name.startswith("git_"):
        name, client = "log", sdk.snapshot
        with pytest.raises(sdk_package.UnimplementedError):
            client.log()
        return
    with pytest.raises(sdk_package.UnimplementedError):
        REFUSED[name](sdk)


def test_every_method_of_the_package_is_known_here() -> None:
    source = Path(__file__).read_text("utf-8")
    methods = {name for name in dir(sdk_package.AsyncHTTPClient) if not name.startswith("_")}
    unknown = {name for name in methods - REFUSED.keys() - ASIDE if name not in source}
    assert unknown == set()
