"""What is different between a recorded answer and ours, and which differences are meant."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
}
SHELVES = ("memories", "resources", "skills")


@dataclass(frozen=True)
class Meant:
    """A difference that is meant: which exchanges and which differences, as patterns, and why."""

    names: str
    told: str
    reason: str

    def covers(self, name: str, told: str) -> bool:
        """Whether this is one of them."""
        return bool(re.fullmatch(self.names, name) and re.fullmatch(self.told, told))


def differences(name: str, status: int, shape: Any, answer: httpx.Response) -> list[str]:
    """Return what is different in status, code, fields and their types; more fields are no difference."""
    if not isinstance(shape, dict) or "_text" in shape:  # recorded as a text
        same = answer.status_code == status
        return [] if same else [f"status {status} -> {answer.status_code}"]
    ours = answer.json()
    if answer.status_code != status:
        code = (ours.get("error") or {"code": "ok"})["code"]
        return [f"status {status} -> {answer.status_code} {code}"]
    if shape.get("error"):
        return list(_other_error(shape["error"], ours["error"]))
    return list(_other_answer(name, shape, ours))


def _other_error(theirs: Any, ours: Any) -> Iterator[str]:
    if ours["code"] != theirs["code"]:
        yield f"code {theirs['code']} -> {ours['code']}"
    yield from unlike(theirs.get("details"), ours["details"], "details")


def _other_answer(name: str, shape: Any, ours: Any) -> Iterator[str]:
    result = shape.get("result", shape)
    yield from unlike(result, ours.get("result", ours), "result")
    yield from unlike(shape.get("telemetry"), ours.get("telemetry"), "telemetry")
    if name.startswith(("find", "search")) and isinstance(result, dict):
        found = any(result.get(shelf) for shelf in SHELVES)
        if found and not ours["result"]["total"]:
            yield "nothing was found"


def unlike(shape: Any, value: Any, path: str) -> Iterator[str]:
    """Yield what a value has not of a recorded shape; null says nothing of what else may stand there."""
    match shape, value:
        case None, _:
            return
        case dict(), dict():
            for name in shape:
                if name in value:
                    yield from unlike(shape[name], value[name], f"{path}.{name}")
                else:
                    yield f"{path}.{name} is missing"
        case list(), list():
            if shape and value:
                yield from unlike(shape[0], value[0], f"{path}[]")
        case _:
            kinds = _kinds(shape)
            if type(value) not in kinds:
                yield f"{path} is {type(value).__name__}, not {kinds[0].__name__}"


def _kinds(shape: Any) -> tuple[type, ...]:
    return TYPES.get(shape, (str,)) if isinstance(shape, str) else (type(shape),)


MEANT = (
    Meant("ready.*", r"result\.checks\..*", "the components of this server are other ones"),
    Meant(
        "resources-add-single-wait|fs-set-tags-bad",
        "status 200 -> 400 INVALID_ARGUMENT",
        "a tag is key=value; others are refused, and nothing is written",
    ),
    Meant(
        "resources-add-.*",
        r"result\.(temp_uri|telemetry|usage|meta\..*) is missing|telemetry\.summary\.resource is missing",
        "nothing is parsed in a place of its own; what became of each file is in meta",
    ),
    Meant("find-target-dotdot", ".* 400 INVALID_URI", "dotted segments are no address"),
    Meant(
        "find-(level-9|level-str-garbage|threshold-neg1|threshold-2|limit-101|limit-1000)",
        "status 200 -> 400 INVALID_ARGUMENT",
        "a value that is not understood never widens a search",
    ),
    Meant(
        "find-filter-(prefix-name|contains-uri|regex|must-uri-depth)",
        "status 200 -> 400 INVALID_ARGUMENT",
        "a filter that is not understood is never dropped",
    ),
    Meant(
        "(find|search)-unknown-field|search-keywords|find-events-decay-bad",
        "status 400 -> 200 ok",
        "fields without an effect are named in X-Ignored-Fields",
    ),
    Meant(
        "(find|search)-.*",
        r"telemetry\.summary\.(tokens|vector|search) is missing",
        "telemetry tells what this server has to tell",
    ),
    Meant("find-get-405", "code UNKNOWN -> INVALID_ARGUMENT", "there are thirteen codes"),
    Meant("find-auth-lowercase-bearer", "status 401 -> 200 ok", "a scheme has no case"),
    Meant(
        "sessions-.*",
        r"result\.([a-z_]*_usage\..*|keep_recent.*|retention_mode|retained.*|min_raw.*|last_.*|"
        r"memory_extraction_config) is (NoneType, not .*|no object)",
        "what is not counted, set or done yet is null",
    ),
    Meant(
        "sessions-commit.*",
        r"result\.(effective_enable_working_memory|budget_exceeded) is missing",
        "there is no such setting",
    ),
    Meant("sessions-create-badid", ".* 400 INVALID_ARGUMENT", "such an id is nobody's"),
    Meant(
        "search-session.*",
        r"result\.query_plan\.queries\[\]\.context_type is NoneType, not str",
        "a planned query may ask for all kinds",
    ),
    Meant(
        "search-session.*",
        r".*\.duration_seconds is missing",
        "the same request gives the same bytes",
    ),
    Meant("search-empty-query-tags", "status 400 -> 200 ok", "search has all of find"),
    Meant(
        "search-context-mode.*",
        r"result\.stats\.tier_counts\.overview is missing",
        "tiers that were used are counted",
    ),
    Meant("tasks-get-commit", r"result\.error is .*", "it failed there, for want of a model"),
    Meant("tasks-list", r"result\[\]\.result\..*", "deleting needs no task here"),
    Meant(
        "fs-rm-missing|content-write-replace-missing|write-embedder-down|skills-add",
        r"result\.(memory_cleanup|semantic_root_uri|semantic_status|queue_status|task_id) is missing",
        "it is done when it is answered, without a task",
    ),
    Meant("fs-rm-recursive", "status 409 -> 200 ok", "a lock of its own was in the way there"),
    Meant("fs-ls-nouri", "status 400 -> 200 ok", "no address is the root"),
    Meant("fs-stat-file", r"result\.id is missing", "an address is the only name of a file"),
    Meant("content-write-create-exists", ".* 409 ALREADY_EXISTS", "create never replaces"),
    Meant("grep-badregex", r"details\.resource is missing", "the field is named instead"),
    Meant("skills-delete", r"result\.privacy_deleted is missing", "no privacy settings are kept"),
    Meant("system-wait", r"result\.[A-Z]\w* is missing", "there are two queues"),
    Meant("debug-vector-.*", ".* 501 UNIMPLEMENTED", "vectors are shown to nobody"),
    Meant("metrics", "status 404 -> 403", "they are there, for another key"),
    Meant("stats-memories", r"result\.staleness\..*", "when a memory was last read is not kept"),
    Meant("resources-bad-tempid", ".* 404 NOT_FOUND", "an upload that is not there is not found"),
    Meant("resources-bad-to", ".* 404 NOT_FOUND", "the upload, looked for first, is not there"),
    Meant(
        "resources-url-unreachable", ".* 501 UNIMPLEMENTED", "nothing is fetched from the network"
    ),
    Meant(
        "find-embedder-down.*",
        "status 50[03] -> 200 ok",
        "words are found without a model (here it is up)",
    ),
)
