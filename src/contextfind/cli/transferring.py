"""`export` and `import`: a deployment as one file, while no server runs on its data."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.configuring import ConfigFile, DataDirectory, settings_from
from contextfind.cli.data import check_data
from contextfind.cli.meter import meter
from contextfind.cli.opening import opened_vault
from contextfind.cli.outfile import STDOUT
from contextfind.cli.pace import Pace
from contextfind.cli.progress import settle
from contextfind.cli.screen import complain, say, show_json
from contextfind.config.model import Settings
from contextfind.domain.errors import ContextFindError, InvalidArgumentError
from contextfind.transfer.entries import Header, Totals
from contextfind.transfer.exporting import Choice
from contextfind.transfer.importing import Brought
from contextfind.transfer.reader import ExportReader
from contextfind.wiring import Vault

PLAIN = ".jsonl"  # a file of this name is written without compression
_WHOLE = "get a whole copy"
_AGAIN = "what stands before is stored; get a whole copy and run the same command again"

app = typer.Typer()


@app.command("export")
def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="DATA.jsonl.zst; a plain DATA.jsonl, or - for the terminal."
        ),
    ],
    *,
    config: ConfigFile = None,
    data: DataDirectory = None,
    account: Annotated[
        str, typer.Option(metavar="ACCOUNT", help="Only this account (default: all).")
    ] = "",
    vectors: Annotated[
        bool,
        typer.Option("--vectors/--no-vectors", help="Without them an import embeds again."),
    ] = True,
) -> None:
    """Write all data into one file; the server must be stopped.

    Keys are not in it. A file of this name is replaced once the new one is whole.
    """
    try:
        settings = settings_from(config, {"storage.path": data}).settings
        check_data(settings)
        choice = Choice(account, vectors, compressed=file.suffix != PLAIN)
        totals = asyncio.run(_export(settings, file, choice))
    except Complaint as complaint:
        complain(complaint)
        raise typer.Exit(complaint.exit_code) from complaint
    say(f"{file}: {_told(totals)}", style="green")


@app.command("import")
def import_(  # noqa: PLR0913 - a command line is its options
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `contextfind export` wrote; - reads stdin.")
    ],
    *,
    config: ConfigFile = None,
    data: DataDirectory = None,
    embedder: Annotated[
        Literal["local", "hash", "openai"] | None,
        typer.Option(help="openai needs embedding.model in ov.conf; hash is for tests."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Only check that the file is whole; change nothing.")
    ] = False,
    reembed: Annotated[
        bool,
        typer.Option("--reembed", help="Take no vectors of another embedder; make them anew."),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Embed and index too, in place of the next server.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="What was brought as JSON.")] = False,
) -> None:
    """Bring an exported file into the data; the server must be stopped.

    What is at the same address is replaced, all else stays. Run it again after an interruption: what
    is there already is passed over.
    """
    try:
        settings = settings_from(
            config, {"storage.path": data, "embedding.provider": embedder}
        ).settings
        if verify:
            brought = _verify(file)
        else:
            brought = asyncio.run(_import(settings, file, reembed=reembed))
            if wait:
                asyncio.run(_settle(settings))
    except Complaint as complaint:
        complain(complaint, as_json=json)
        raise typer.Exit(complaint.exit_code) from complaint
    if json:
        totals = brought.totals
        show_json(
            {name: getattr(totals, name) for name in Totals.__slots__}
            | {"written": brought.written}
        )


async def _export(settings: Settings, file: Path, choice: Choice) -> Totals:
    async with opened_vault(settings) as vault:
        with _explained(file, next_step=_WHOLE), meter() as bar, _fresh(file) as stream:
            exporter = vault.exporter
            header = await exporter.header(choice, vault.fingerprint, vault.clock())
            total, pace = header.counts["records"], Pace("records")
            return await exporter.write(
                stream,
                header,
                choice,
                lambda done: bar.show("exported", done, total, pace.at(done, total)),
            )


def _verify(file: Path) -> Brought:
    totals = Totals()
    with _explained(file, next_step=_WHOLE), _source(file) as stream, meter() as bar:
        reader = ExportReader(stream)
        total, pace = reader.header.counts.get("records", 0), Pace("records")
        for block in reader.blocks():
            totals += block.totals
            bar.show("verified", totals.records, total, pace.at(totals.records, total))
    say(f"{file} is whole: {_told(totals)}", style="green")
    return Brought(totals)


async def _import(settings: Settings, file: Path, *, reembed: bool) -> Brought:
    with _explained(file, next_step=_AGAIN), _source(file) as stream:
        reader = ExportReader(stream)
        async with opened_vault(settings, filling=True) as vault:
            _check_vectors(reader.header, vault, reembed=reembed)
            total, pace = reader.header.counts.get("records", 0), Pace("records")
            with meter() as bar:
                brought = await vault.importer.read(
                    reader,
                    vault.fingerprint,
                    lambda so_far: bar.show(
                        "imported",
                        so_far.totals.records,
                        total,
                        pace.at(so_far.totals.records, total),
                    ),
                )
            waiting = (await vault.store.backlog()).texts
    say(f"{file}: {_told(brought.totals)}; {brought.written:,} records changed", style="green")
    if waiting:
        say(f"{waiting:,} texts have no vector yet; a server makes them while it answers")
    return brought


def _check_vectors(header: Header, vault: Vault, *, reembed: bool) -> None:
    """Refuse vectors that mean nothing here, or are none of those that their embedder makes."""
    if header.fingerprint == vault.fingerprint and header.dimension != vault.dimension:
        raise InvalidArgumentError(
            f"its vectors have {header.dimension} numbers, those of embedder "
            f"{vault.fingerprint!r} have {vault.dimension}"
        )
    if header.fingerprint in ("", vault.fingerprint) or reembed:
        return
    raise Complaint(
        f"the vectors of the file were made by embedder {header.fingerprint!r}, but the "
        f"configuration names {vault.fingerprint!r}; configure that one, or embed every text "
        "again with --reembed",
        ExitCode.OCCUPIED,
        "FAILED_PRECONDITION",
    )


async def _settle(settings: Settings) -> None:
    """Let the workers of a house finish what an import left to them."""
    note = await settle(settings)
    say(note or "all of it can be found", style="yellow" if note else "green")


@contextlib.contextmanager
def _fresh(file: Path) -> Iterator[BinaryIO]:
    """Give a stream whose bytes get the file's name when all went well."""
    if file == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = file.with_name(file.name + ".part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _source(file: Path) -> Iterator[BinaryIO]:
    if file == STDOUT:
        yield sys.stdin.buffer
        return
    with file.open("rb") as stream:
        yield stream


@contextlib.contextmanager
def _explained(file: Path, *, next_step: str) -> Iterator[None]:
    """Make complaints of what goes wrong with file or data.

    next_step: what helps against a damaged file.
    """
    try:
        yield
    except OSError as error:
        raise Complaint(f"cannot use {file}: {error.strerror or error}", ExitCode.USAGE) from error
    except InvalidArgumentError as error:
        raise Complaint(f"{file}: {error}; {next_step}", ExitCode.FAILED, error.code) from error
    except ContextFindError as error:
        raise Complaint(str(error), ExitCode.FAILED, error.code) from error


def _told(totals: Totals) -> str:
    return (
        f"{totals.accounts:,} accounts, {totals.records:,} records, {totals.passages:,} passages, "
        f"{totals.vectors:,} vectors, {totals.sessions:,} conversations"
    )
