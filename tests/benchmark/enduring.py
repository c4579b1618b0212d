"""What changes with time: opening, memory after many finds, finds beside an ingest, the disk.

`memory` is R108, `ingest` R091 with a clock, `disk` R116.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from contextfind.answering.measures import quantile
from examples.serving import Api, ServerFailedError, zip_of
from tests.benchmark.clients import Answers, Clients, Load, sent
from tests.benchmark.finding import KeyOf, index_figures
from tests.benchmark.kinds import FIND, Kind
from tests.benchmark.loading import SETTINGS
from tests.benchmark.vocabulary import Vocabulary
from tests.benchmark.watched import POLL_SECONDS, Keys, Watched, size_mib, wait

Report = Callable[[str], None]
Figures = dict[str, float]

FINDS_EARLY, FINDS_LATE = 2_000, 20_000
AT_ONCE = 8
INGESTED = "viking://resources/ingested"
FILE_BYTES = 2_048
PAUSE = 0.02  # between finds beside an ingest: as a person or an agent would, not as fast as can be
IDLE_SECONDS = 15.0  # of finds before the ingest, for comparison
TO_DRAW = "under_way"  # of the index's figures: what is merged, drawn or written yet
DRAWN_POLL_SECONDS = 2.0  # the figures count records, which takes its time among a million
WRITTEN = "viking://resources/written"
DIRECTORY_FILES = 50  # of single writes
CALM_SECONDS, CALM_LONGEST = 20.0, 180.0  # a directory whose size stays for so long is done with


def opening(server: Watched, kind: Kind, key_of: KeyOf) -> Figures:
    """Return the seconds from the start of the process until: /health, a first answer, all answers.

    drawn: until every graph is there; all the while a find is asked every now and then. quiet: until
    nothing is worked at any more. Also what memory and CPU it took up to then.
    """
    begun = time.perf_counter() - server.healthy_after
    with Api(server.url, key_of(kind.account)) as api:
        while not _is_found(api, kind.bodies[0]):
            wait(POLL_SECONDS)
    answered = time.perf_counter() - begun
    with Clients(_now_and_then(server, kind, key_of)) as some:
        with server.api() as api:
            api.call("POST", "/api/v1/system/wait", json={}, timeout=None)
        complete = time.perf_counter() - begun
        while index_figures(server).get(TO_DRAW, 0):
            wait(DRAWN_POLL_SECONDS)
        drawn = time.perf_counter() - begun
        answers = some.result()
    quiet = drawn + server.settle()
    return {
        "health_s": round(server.healthy_after, 2),
        "first_answer_s": round(answered, 2),
        "complete_s": round(complete, 2),
        "drawn_s": round(drawn, 1),
        "quiet_s": round(quiet, 1),
        "cpu_s": round(server.cpu_seconds(), 1),
        **_spread("meanwhile_find", answers),
        **{f"{name}_mib": value for name, value in server.resident_mib().items()},
        "peak_all_mib": server.peak_mib,
    }


def _is_found(api: Api, body: str) -> bool:
    try:
        result = api.call("POST", FIND, content=body, headers={"Content-Type": "application/json"})
    except ServerFailedError:  # it has only just begun
        return False
    return bool(result["total"])


def _now_and_then(server: Watched, kind: Kind, key_of: KeyOf) -> Load:
    return Load(server.port, FIND, kind.bodies, key_of(kind.account), endless=True, pause=PAUSE)


def memory(server: Watched, kinds: Sequence[Kind], key_of: KeyOf) -> Figures:
    """Return resident MiB after many finds of all kinds of one account, and after ten times as many."""
    own = [kind for kind in kinds if kind.account == kinds[0].account]
    bodies = [body for group in zip(*(kind.bodies for kind in own), strict=True) for body in group]
    told: Figures = {}
    done = 0
    for count in (FINDS_EARLY, FINDS_LATE):
        more = [bodies[number % len(bodies)] for number in range(done, count)]
        sent(Load(server.port, FIND, more, key_of(own[0].account), AT_ONCE))
        done = count
        told[f"rss_after_{count}_mib"] = server.resident_mib()["rss"]
    grown = told[f"rss_after_{FINDS_LATE}_mib"] / told[f"rss_after_{FINDS_EARLY}_mib"]
    return {**told, "ratio": round(grown, 3)}


def ingest(server: Watched, kind: Kind, key_of: KeyOf, files: int, report: Report) -> Figures:
    """Return how finds and /health fare idle, and while `files` files of 2 kB are added."""
    finds = _now_and_then(server, kind, key_of)
    health = Load(server.port, "/health", [""], endless=True, pause=PAUSE)
    with Clients(finds) as asking, Clients(health) as looking:
        wait(IDLE_SECONDS)
        idle = _spread("idle_find", asking.result()) | _spread("idle_health", looking.result())
    archive = zip_of(made_files(files))
    used, begun = server.cpu_seconds(), time.perf_counter()
    with server.api() as api, Clients(finds) as asking, Clients(health) as looking:
        api.add(archive, INGESTED, lambda task: report(f"ingest: {task.get('stage')}"))
        seconds = time.perf_counter() - begun
        busy = _spread("find", asking.result()) | _spread("health", looking.result())
    cpu = server.cpu_seconds() - used
    with server.api() as api:
        api.call("DELETE", "/api/v1/fs", params={"uri": INGESTED, "recursive": "true"})
    return {
        "files": files,
        "seconds": round(seconds, 1),
        "files_per_s": round(files / seconds, 1),
        "cpu_ms_per_file": round(1000 * cpu / files, 2),
        **idle,
        **busy,
        "find_p95_ratio": round(busy["find_p95_ms"] / idle["idle_find_p95_ms"], 2),
    }


def disk(writes: int, report: Report) -> Figures:
    """Return the MiB of a directory after single writes and deletes of half, and of one loaded with the rest."""
    files = made_files(writes)
    kept = files[1::2]
    with tempfile.TemporaryDirectory(prefix="contextfind-disk-") as work:
        worn = Path(work, "worn")
        worn.mkdir()
        with Watched(worn, Keys.fresh(), SETTINGS) as server:
            report(f"disk: {writes} writes")
            _write_all(server, files)
            report(f"disk: {len(files[::2])} deletes")
            _delete_all(server, files[::2])
            right_after = size_mib(worn / "data")
            report("disk: idle")
            after_idle, idle_s = _calm_size(worn / "data")
        fresh = Path(work, "fresh")
        fresh.mkdir()
        with Watched(fresh, Keys.fresh(), SETTINGS) as server, server.api() as api:
            report("disk: a fresh load")
            api.add(zip_of(kept), WRITTEN, lambda _: None)
            loaded, _ = _calm_size(fresh / "data")
        return {
            "writes": writes,
            "deletes": len(files[::2]),
            "right_after_mib": right_after,
            "after_idle_mib": after_idle,
            "idle_s": idle_s,
            "stopped_mib": size_mib(worn / "data"),
            "fresh_mib": loaded,
            "ratio": round(after_idle / loaded, 2),
        }


def made_files(count: int) -> list[tuple[str, bytes]]:
    """Return path and bytes of Markdown files of 2 kB in directories of fifty."""
    vocabulary = Vocabulary(count * FILE_BYTES // 7, 64)
    chance = np.random.default_rng(11)
    files: list[tuple[str, bytes]] = []
    for number in range(count):
        ranks = vocabulary.draw(chance.random((8, FILE_BYTES // 7 // 8)))
        paragraphs = [" ".join(words) + "." for words in vocabulary.words[ranks].tolist()]
        text = "\n\n".join([f"# {paragraphs[0][:30].strip()}", *paragraphs])
        path = f"part-{number // DIRECTORY_FILES:03d}/{number:05d}.md"
        files.append((path, text.encode()[: FILE_BYTES - 1] + b"\n"))
    return files


def _write_all(server: Watched, files: Sequence[tuple[str, bytes]]) -> None:
    def write(api: Api, file: tuple[str, bytes]) -> None:
        body = {"uri": f"{WRITTEN}/{file[0]}", "content": file[1].decode()}
        api.call("POST", "/api/v1/content/write", json=body)

    _each(server, files, write)


def _delete_all(server: Watched, files: Sequence[tuple[str, bytes]]) -> None:
    def delete(api: Api, file: tuple[str, bytes]) -> None:
        api.call("DELETE", "/api/v1/fs", params={"uri": f"{WRITTEN}/{file[0]}"})

    _each(server, files, delete)


def _each(
    server: Watched,
    files: Sequence[tuple[str, bytes]],
    call: Callable[[Api, tuple[str, bytes]], None],
) -> None:
    with server.api() as api, ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(call, api, file) for file in files]:
            done.result()
        api.call("POST", "/api/v1/system/wait", json={}, timeout=None)


def _calm_size(folder: Path) -> tuple[float, float]:
    """Return the MiB of a directory once they stay, and after how many seconds they did."""
    begun = changed = time.monotonic()
    size = size_mib(folder)
    while time.monotonic() - changed < CALM_SECONDS and time.monotonic() - begun < CALM_LONGEST:
        wait(1.0)
        now = size_mib(folder)
        if now != size:
            size, changed = now, time.monotonic()
    return size, round(changed - begun, 1)


def _spread(name: str, answers: Answers) -> Figures:
    if answers.failed:
        raise ServerFailedError(f"{answers.failed} requests of {name!r} failed")
    return {
        f"{name}s": len(answers.ms),
        **{
            f"{name}_p{share}_ms": round(quantile(answers.ms, share / 100), 2)
            for share in (50, 95, 99)
        },
        f"{name}_max_ms": round(max(answers.ms, default=0.0), 2),
    }


def key_lookup(server: Watched, accounts: Sequence[str], user: str) -> KeyOf:
    """Return what gives the key of an account, made now for all but the first one."""
    keys = {accounts[0]: server.keys.user}
    with Api(server.url, server.keys.root) as root:
        for account in accounts[1:]:
            wanted = {"account_id": account, "user_id": user, "label": "benchmark"}
            made: Mapping[str, Any] = root.call("POST", "/api/v1/admin/keys", json=wanted)
            keys[account] = made["user_key"]
    return keys.__getitem__
