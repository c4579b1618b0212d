"""One look at each thing a server needs."""

import os
import shutil
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from contextfind.adapters.files.lock import DirectoryLock
from contextfind.cli.complaint import Complaint, ExitCode, one_line
from contextfind.cli.startup import listening
from contextfind.config.chat import ChatSettings
from contextfind.config.model import Settings
from contextfind.config.storage import IndexSettings, StorageSettings
from contextfind.domain.errors import ContextFindError
from contextfind.domain.identity import DEFAULT_ACCOUNT, DEFAULT_USER, Identity, RequestContext
from contextfind.domain.queries import FindQuestion
from contextfind.domain.uri import Uri
from contextfind.ports import Message
from contextfind.wiring import House
from contextfind.wiring.findings import Finding, Verdict
from contextfind.wiring.models import Switchboard, open_chat, open_reranker, planner_settings

GIB = 1024**3
COMFORTABLE = 2 * GIB  # free disk below which a growing index may soon be in trouble
TIGHT = GIB // 8  # below this not even a start is sure: WAL, segments and uploads need room
MODEL_SECONDS = 60.0  # a local model loads in seconds; a remote one must answer within this

_WORDS = "The harbour crane lifts containers."
_SAY = "Answer with the word ready and nothing else."
_WORDY = 1_000  # tokens; some models think aloud before they say a word


def check_surroundings(settings: Settings) -> list[Finding]:
    """Look at the data directory, its lock, the disk and the port; of a database only at what is on this machine."""
    if settings.storage.backend != "sqlite":
        return [_room_for_uploads(Path(tempfile.gettempdir()), settings), check_port(settings)]
    directory = Path(settings.storage.path).absolute()
    data = check_directory(directory)
    findings = [data]
    if directory.is_dir() and data.verdict is not Verdict.FAIL:
        findings.append(check_lock(directory))
    return [*findings, check_disk(directory), check_port(settings)]


def check_directory(directory: Path) -> Finding:
    """Look whether the data directory can be written, or made."""
    if directory.exists() and not directory.is_dir():
        return Finding(
            "data", Verdict.FAIL, f"{directory} is no directory", "choose another with --data"
        )
    there = _nearest(directory)
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding(
            "data",
            Verdict.FAIL,
            f"{there} cannot be written",
            "change its owner, or choose another with --data",
        )
    state = "is there" if directory.is_dir() else "will be made at the first start"
    return Finding("data", Verdict.OK, f"{directory} {state}")


def check_lock(directory: Path) -> Finding:
    """Look whether a server has the data open."""
    lock = DirectoryLock(directory)
    try:
        lock.acquire()
    except ContextFindError as error:
        return Finding("lock", Verdict.WARN, str(error), "fine if that is the server you want")
    lock.release()
    return Finding("lock", Verdict.OK, "no server has the data open")


def check_disk(directory: Path) -> Finding:
    """Look at the free room where the data lies."""
    free = shutil.disk_usage(_nearest(directory)).free
    line = f"{free / GIB:.1f} GiB free"
    if free < TIGHT:
        return Finding("disk", Verdict.FAIL, line, "make room, or choose another with --data")
    if free < COMFORTABLE:
        return Finding("disk", Verdict.WARN, line, "make room before you add much")
    return Finding("disk", Verdict.OK, line)


def _room_for_uploads(directory: Path, settings: Settings) -> Finding:
    """Look at the free room where uploads lie while they come and are added, on their way to the database."""
    free, largest = shutil.disk_usage(directory).free, settings.server.max_upload_bytes
    line = f"{free / GIB:.1f} GiB free in {directory}, where uploads lie meanwhile"
    if free < 2 * largest:  # one that comes and its copy that is read
        step = "name a larger one in TMPDIR, or lower server.max_upload_bytes"
        return Finding("disk", Verdict.WARN, line, step)
    return Finding("disk", Verdict.OK, line)


def check_port(settings: Settings) -> Finding:
    """Look whether the port can be had."""
    host, port = settings.server.host, settings.server.port
    try:
        listening(host, port).close()
    except Complaint as complaint:
        if complaint.exit_code is ExitCode.OCCUPIED:
            return Finding(
                "port",
                Verdict.WARN,
                f"port {port} on {host} is in use",
                "fine if that is the server you want (contextfind status), else choose with --port",
            )
        return Finding("port", Verdict.FAIL, str(complaint))
    return Finding("port", Verdict.OK, f"{port} on {host} is free")


async def check_models(settings: Settings) -> Finding:
    """Write, embed and find a text with these settings, in a temporary directory."""
    embedder = settings.embedding.model or settings.embedding.provider
    try:
        note = await _tried(settings)
    except ContextFindError as error:
        note = str(error)
    if note:
        return Finding(
            "models", Verdict.FAIL, f"{embedder}: {one_line(note)}", "look at embedding in ov.conf"
        )
    return Finding("models", Verdict.OK, f"{embedder}: a text was written, embedded and found")


async def check_reranker(settings: Settings) -> list[Finding]:
    """Have a text judged; nothing to tell where no reranker is configured."""
    name = settings.rerank.model or settings.rerank.provider
    try:
        async with AsyncExitStack() as stack:
            reranker = open_reranker(settings.rerank, Switchboard(stack))
            if reranker is None:
                return []
            await reranker.rerank(_WORDS, [_WORDS])
    except ContextFindError as error:
        line = f"{name}: {one_line(str(error))}"
        return [Finding("rerank", Verdict.FAIL, line, "look at rerank in ov.conf")]
    return [Finding("rerank", Verdict.OK, f"{name}: a text was judged")]


async def check_chats(settings: Settings) -> list[Finding]:
    """Have each language model say a word; nothing to tell where none is configured."""
    planner = planner_settings(settings)
    asked = {"vlm": settings.vlm}
    if planner != settings.vlm:
        asked["query_planner"] = planner
    return [await _spoken_to(section, one) for section, one in asked.items() if one.model]


async def _spoken_to(section: str, settings: ChatSettings) -> Finding:
    try:
        async with AsyncExitStack() as stack:
            model = open_chat(settings, Switchboard(stack), section)
            if model is not None:
                await model.complete([Message("user", _SAY)], _WORDY)
    except ContextFindError as error:
        line = f"{settings.model}: {one_line(str(error))}"
        return Finding("chat", Verdict.FAIL, line, f"look at {section} in ov.conf")
    return Finding("chat", Verdict.OK, f"{settings.model}: answered")


async def _tried(settings: Settings) -> str:
    """Return what did not work, empty when all did."""
    who = Identity(DEFAULT_ACCOUNT, DEFAULT_USER)
    uri = Uri("viking://resources/doctor.md")
    with tempfile.TemporaryDirectory(prefix="contextfind-doctor-") as room:
        tried = {
            "storage": StorageSettings(path=room),
            "index": IndexSettings(),
            "vlm": ChatSettings(),
        }  # language models are asked by themselves
        async with House.open(settings.model_copy(update=tried)) as house:
            await house.writer.write(who, uri, _WORDS, "create")
            settled = await house.settling.settle(who.account, None, MODEL_SECONDS)
            if settled.texts:
                return settled.note
            question = FindQuestion(query=_WORDS, limit=1)
            found = await house.finder.find(RequestContext(who, "doctor"), question)
            return "" if found.total else "the text that was written is not found"


def _nearest(directory: Path) -> Path:
    """Return the directory, or the nearest one above that is there."""
    return next(here for here in (directory, *directory.parents) if here.exists())
