from dataclasses import replace

import pytest

from contextfind.domain.identity import Identity
from contextfind.ingestion.settling import Settled
from contextfind.ports import Job, JobState
from contextfind.server.rules import ServerRules
from tests.api.caller import app_of, calling, error_of, result_of
from tests.api.fake_house import NOW, FakeHouse
from tests.api.living import town

WAIT = "/api/v1/system/wait"


async def add(api):
    return result_of(await api.http.post("/api/v1/resources", json={"temp_file_id": "u"}))


async def test_status_says_who_asks_and_what_is_there(api):
    status = result_of(await api.http.get("/api/v1/system/status"))
    assert status["initialized"] is True
    assert status["user"] == "default"
    assert status["account"] == "default"
    assert status["version"].startswith("0.5.2+contextfind.")
    assert status["counts"] == {"files": 3}
    assert status["index"] == {"rows": 9}


@pytest.mark.parametrize("root_key", ["", "root"])
@pytest.mark.parametrize(
    ("key", "account", "user"), [("ready", "default", "default"), ("cf_a", "acme", "alice")]
)
async def test_beside_a_configured_key_each_key_sees_the_figures_of_its_account(
    root_key, key, account, user
):
    house = FakeHouse()
    await house.identities.let_in("cf_a", Identity("acme", "alice", "user"))
    rules = ServerRules(api_key="ready", root_api_key=root_key)
    async with calling(app_of(house, rules), **{"X-API-Key": key}) as http:
        status = result_of(await http.get("/api/v1/system/status"))
    assert status["initialized"] is True
    assert (status["account"], status["user"]) == (account, user)
    assert status["counts"] == {"files": 1}
    assert "index" not in status


async def test_a_tenant_among_others_sees_no_figures_about_all_of_them():
    house = FakeHouse()
    alice = Identity("acme", "alice", "admin")
    await house.identities.let_in("cf_a", alice)
    async with calling(app_of(house, ServerRules(root_api_key="root"))) as http:
        tenant = await http.get("/api/v1/system/status", headers={"X-API-Key": "cf_a"})
        root = await http.get("/api/v1/system/status", headers={"X-API-Key": "root"})
    assert result_of(tenant)["user"] == "alice"
    assert result_of(tenant)["counts"] == {"files": 1}
    assert "index" not in result_of(tenant)
    assert result_of(root)["counts"] == {"files": 3}
    assert result_of(root)["index"] == {"rows": 9}


async def test_what_somebody_keeps_in_their_own_tree_changes_no_figure_of_another_user(tmp_path):
    async with town(tmp_path) as place:
        alice, bob = await place.account("acme", ["alice", "bob"])
        before = result_of(await bob.get("system/status"))
        hers = result_of(await alice.get("system/status"))
        await alice.write("viking://~/memories/diary/secret.md", "# Secret\n\nA plan.", wait=True)
        await alice.settled()
        assert result_of(await bob.get("system/status")) == before
        assert result_of(await alice.get("system/status"))["counts"] != hers["counts"]
        await alice.write("viking://resources/shared.md", "For all.", wait=True)
        now = result_of(await bob.get("system/status"))
    assert now["counts"]["files"] == before["counts"]["files"] + 1


async def test_wait_forgets_no_task_for_those_that_were_begun_after_it(api):
    await add(api)
    jobs = api.house.jobs
    (first,) = jobs.jobs.values()
    for number in range(201):
        later = replace(first, id=f"later{number}", state=JobState.COMPLETED)
        jobs.jobs[later.id] = later
    result_of(await api.http.post(WAIT))
    assert len(jobs.patience) == 1


@pytest.mark.parametrize("sent", [{}, {"json": {}}, {"json": {"timeout": None}}, {"json": None}])
async def test_wait_answers_when_tasks_and_workers_are_done(api, sent):
    await add(api)
    done = result_of(await api.http.post(WAIT, **sent))
    assert done["Embedding"]["errors"] == []
    assert done["Semantic"]["pending"] == 0
    assert len(api.house.jobs.patience) == 1
    assert api.house.settling.asked == [("default", None)]
    assert api.house.settling.users == ["default"]


async def test_wait_looks_at_no_task_that_has_ended(api):
    await add(api)
    await api.http.post("/api/v1/tasks/job0/cancel")
    result_of(await api.http.post(WAIT, json={"timeout": 5}))
    assert api.house.jobs.patience == []


async def test_wait_is_bounded(api):
    api.house.settling.seconds = 0.05
    error_of(await api.http.post(WAIT, json={"timeout": 0.01}), 504, "DEADLINE_EXCEEDED")


async def test_wait_with_no_time_at_all_says_only_whether_it_is_done(api):
    result_of(await api.http.post(WAIT, json={"timeout": 0}))
    api.house.settling.answer = Settled(3, 1, "the work goes on")
    response = await api.http.post(WAIT, json={"timeout": 0})
    error = error_of(response, 504, "DEADLINE_EXCEEDED")
    assert error["details"] == {"retryable": True, "texts": 3, "directories": 1}


async def test_a_task_is_what_clients_poll_for(api):
    await add(api)
    await api.http.post(WAIT, json={})
    task = result_of(await api.http.get("/api/v1/tasks/job0"))
    assert task["task_id"] == "job0"
    assert task["task_type"] == "add_resource"
    assert task["status"] == "completed"
    assert task["resource_id"] == "viking://resources/docs"
    assert task["result"]["added"] == 2
    assert task["error"] is None
    assert task["created_at"] == NOW.timestamp()
    assert task["created_at_iso"] == "2026-03-01T12:00:00Z"


async def test_a_task_nobody_knows_is_not_found(api):
    for method, path in (("GET", "/api/v1/tasks/nope"), ("POST", "/api/v1/tasks/nope/cancel")):
        error_of(await api.http.request(method, path), 404, "NOT_FOUND")


async def test_tasks_are_listed_newest_first_and_chosen_by_their_fields(api):
    for _ in range(3):
        await add(api)
    await api.http.post("/api/v1/tasks/job1/cancel")

    async def listed(**params):
        response = await api.http.get("/api/v1/tasks", params=params)
        return [task["task_id"] for task in result_of(response)]

    assert await listed() == ["job2", "job1", "job0"]
    assert await listed(limit=2) == ["job2", "job1"]
    assert await listed(status="cancelled", limit="") == ["job1"]
    assert await listed(status="running", limit=1) == ["job2"]
    assert await listed(task_type="session_commit") == []
    assert await listed(resource_id="viking://resources/docs") == ["job2", "job1", "job0"]
    bad = await api.http.get("/api/v1/tasks", params={"limit": 0})
    error_of(bad, 400, "INVALID_ARGUMENT")


async def test_a_task_can_be_cancelled(api):
    await add(api)
    cancelled = result_of(await api.http.post("/api/v1/tasks/job0/cancel"))
    assert cancelled["status"] == "cancelled"


async def test_wait_does_not_wait_for_what_is_tried_again_at_its_time(api):
    """What a model owes to an archive may be due in an hour; a wait is about what is under way."""
    identity = Identity("default", "default")
    for name, state, stage in (
        ("new", JobState.PENDING, ""),
        ("resting", JobState.RUNNING, "waiting"),
        ("at work", JobState.RUNNING, "summarising"),
    ):
        job = Job(name, identity, "session_retry", state, NOW, NOW, {"root_uri": "viking://~/s"})
        api.house.jobs.jobs[name] = replace(job, stage=stage)
    result_of(await api.http.post(WAIT, json={"timeout": 5}))
    assert len(api.house.jobs.patience) == 1
    assert api.house.jobs.jobs["at work"].state is JobState.COMPLETED
