"""The made-up library in a data directory: written as an export, read by `contextfind import`."""

import json
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from contextfind.adapters.local.hash import HashEmbedder
from contextfind.domain.documents import TEXT_RECIPE, make_passage
from contextfind.domain.records import Level, context_type_of
from contextfind.domain.uri import Uri
from contextfind.ingestion.passages import PassageRules, context_line, place_of
from contextfind.ports import RecordDraft
from contextfind.transfer.entries import Entry, Header, Member, Tenant, copy_of
from contextfind.transfer.writer import ExportWriter
from examples.serving import ServerFailedError
from tests.benchmark.forest import USER
from tests.benchmark.generated import DIMENSION, END, Library, Node
from tests.benchmark.watched import Keys, environment_of, program, size_mib

SETTINGS = {"CONTEXTFIND_EMBEDDING__DIMENSION": str(DIMENSION)}
EXPORT = "library.jsonl.zst"
NOTES = "benchmark.json"  # what a kept directory holds
_CONTEXT_LENGTH = PassageRules().context


@dataclass(frozen=True, slots=True)
class Loaded:
    """What loading took. cpu: seconds of a core; peak: of the importing process; disk: right after."""

    documents: int
    records: int
    generate_s: float
    import_s: float
    import_cpu_s: float
    import_peak_mib: float
    disk_mib: float


@dataclass(frozen=True, slots=True)
class Place:
    """A directory with a loaded data directory in it."""

    folder: Path
    keys: Keys
    loaded: Loaded

    @classmethod
    def kept(cls, folder: Path, documents: int, seed: int) -> Self | None:
        """Return what an earlier run left, None where it left another library or nothing."""
        notes = folder / NOTES
        if not notes.is_file():
            return None
        told = json.loads(notes.read_text(encoding="utf-8"))
        if (told["loaded"]["documents"], told["seed"]) != (documents, seed):
            raise ServerFailedError(
                f"{folder} holds {told['loaded']['documents']} documents of seed {told['seed']}; "
                "name another directory, or remove it"
            )
        return cls(folder, Keys(**told["keys"]), Loaded(**told["loaded"]))


def load(library: Library, folder: Path, seed: int) -> Place:
    """Write the library as an export, import it into `folder/data`, and leave notes of it."""
    folder.mkdir(parents=True, exist_ok=True)
    export, keys = folder / EXPORT, Keys.fresh()
    begun = time.perf_counter()
    records = write_export(library, export)
    generated = time.perf_counter() - begun
    with _child_usage() as used:
        _import(export, folder, keys)
    export.unlink()
    loaded = Loaded(
        documents=library.documents,
        records=records,
        generate_s=round(generated, 1),
        import_s=used["seconds"],
        import_cpu_s=used["cpu"],
        import_peak_mib=used["peak"],
        disk_mib=size_mib(folder / "data"),
    )
    told = {"seed": seed, "keys": asdict(keys), "loaded": asdict(loaded)}
    (folder / NOTES).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return Place(folder, keys, loaded)


def write_export(library: Library, path: Path) -> int:
    """Write everything as `contextfind import` reads it; return the number of records."""
    fingerprint = HashEmbedder(TEXT_RECIPE, DIMENSION).fingerprint
    header = Header(END, fingerprint, DIMENSION)
    with path.open("wb") as stream, ExportWriter(stream, header) as out:
        account = ""
        for node in library.nodes():
            if node.account != account:
                account = node.account
                out.tenant(Tenant(account, END, [Member(USER, "admin", END)]))
            out.entry(entry_of(node))
        return out.totals.records


def entry_of(node: Node) -> Entry:
    """Return the record of a node, with one passage and its vector."""
    uri = Uri.parse(node.uri)
    line = context_line(place_of(uri), node.title, (), _CONTEXT_LENGTH)
    body = node.text.encode()
    draft = RecordDraft(
        uri=uri,
        level=Level(node.level),
        context_type=context_type_of(uri),
        abstract=node.abstract,
        passages=(make_passage(0, "", node.text.strip(), line),),
        tags=node.tags,
        size=len(body),
    )
    copy = copy_of(
        node.account, draft, node.created_at, updated_at=node.updated_at, vectors=[node.vector]
    )
    return Entry(copy, None if node.level == Level.ABSTRACT else body)


def _import(export: Path, folder: Path, keys: Keys) -> None:
    command = [*program(), "import", str(export)]
    done = subprocess.run(  # noqa: S603 - our own program, no input from outside
        command,
        cwd=folder,
        env=environment_of(folder, keys, SETTINGS),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ServerFailedError(f"the import failed:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")


@contextmanager
def _child_usage() -> Iterator[dict[str, float]]:
    """Give the seconds, CPU seconds and peak MiB of the child processes that ended inside."""
    found: dict[str, float] = {}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    yield found
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found["seconds"] = round(time.perf_counter() - begun, 1)
    found["cpu"] = round(cpu, 1)
    found["peak"] = round(after.ru_maxrss / 1024, 1)  # of the largest child so far, KiB
