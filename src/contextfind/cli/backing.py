"""`backup` and `restore`: a data directory saved beside a running server, and made anew."""

import contextlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.configuring import ConfigFile, DataDirectory, settings_from
from contextfind.cli.data import check_data, data_directory
from contextfind.cli.progress import progress
from contextfind.cli.screen import complain, say, show, show_json, table
from contextfind.domain.errors import (
    ContextFindError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from contextfind.transfer.manifest import Manifest
from contextfind.wiring.backups import Saved, take_backup
from contextfind.wiring.restores import check_backup, restore_backup

_SHOWN = 10  # damaged files; --json names them all

app = typer.Typer()

Place = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the backup.")]


@app.command("backup")
def backup(
    directory: Place,
    *,
    config: ConfigFile = None,
    data: DataDirectory = None,
    json: Annotated[bool, typer.Option("--json", help="What was saved as JSON.")] = False,
) -> None:
    """Save the data into a directory; the server may run, and nobody waits.

    Where a backup of the same data lies already, only what is new is copied, and that one stays good until the new
    one is whole. Uploads that wait are in it, keys as digests; ov.conf is not.
    """
    try:
        settings = settings_from(config, {"storage.path": data}).settings
        source = data_directory(settings)
        check_data(settings)
        with _explained(directory), progress() as told:
            saved = take_backup(source, directory, datetime.now(UTC), told)
    except Complaint as complaint:
        complain(complaint, as_json=json)
        raise typer.Exit(complaint.exit_code) from complaint
    _show_saved(saved, directory, as_json=json)
    if saved.manifest.damaged:
        raise typer.Exit(ExitCode.FAILED)


@app.command("restore")
def restore(
    directory: Place,
    *,
    config: ConfigFile = None,
    data: DataDirectory = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Only check that the backup is whole; write nothing.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="What was restored as JSON.")] = False,
) -> None:
    """Make a new data directory of a backup.

    Every byte of the backup is checked first. The data directory must be empty, or left by a restore that was interrupted.
    """
    try:
        target = data_directory(settings_from(config, {"storage.path": data}).settings)
        with _explained(directory), progress() as told:
            if verify:
                manifest = check_backup(directory, told)
            else:
                manifest = restore_backup(directory, target, told)
    except Complaint as complaint:
        complain(complaint, as_json=json)
        raise typer.Exit(complaint.exit_code) from complaint
    if json:
        show_json(_as_json(manifest))
        return
    done = f"{directory} is whole" if verify else f"{target.absolute()} is restored"
    say(f"{done}: {_what(manifest)}", style="green")
    _name_damaged(manifest)


@contextlib.contextmanager
def _explained(directory: Path) -> Iterator[None]:
    """Make a complaint of what goes wrong."""
    try:
        yield
    except FailedPreconditionError as error:
        raise Complaint(str(error), ExitCode.OCCUPIED, error.code) from error
    except InvalidArgumentError as error:
        raise Complaint(
            f"the backup in {directory} cannot be used: {error}; nothing was written",
            ExitCode.FAILED,
            error.code,
        ) from error
    except ContextFindError as error:
        raise Complaint(str(error), ExitCode.FAILED, error.code) from error


def _show_saved(saved: Saved, directory: Path, *, as_json: bool) -> None:
    manifest = saved.manifest
    if as_json:
        shares = {
            kind: {
                "files": share.files,
                "bytes": share.bytes,
                "copied_files": share.copied_files,
                "copied_bytes": share.copied_bytes,
            }
            for kind, share in saved.shares.items()
        }
        show_json({**_as_json(manifest), "shares": shares})
        return
    made = table("what", "files", "bytes", "copied")
    for kind, share in saved.shares.items():
        made.add_row(kind, f"{share.files:,}", f"{share.bytes:,}", f"{share.copied_files:,}")
    show(made)
    say(f"{directory}: {_what(manifest)}", style="green")
    _name_damaged(manifest)


def _name_damaged(manifest: Manifest) -> None:
    if not manifest.damaged:
        return
    say(
        f"{len(manifest.damaged)} files were lost or damaged in the data before the backup, and are not in it; "
        "see docs/operations.md",
        style="red",
    )
    for path in manifest.damaged[:_SHOWN]:
        say(f"  {path}")


def _what(manifest: Manifest) -> str:
    rows = manifest.counts
    return (
        f"{rows.get('accounts', 0):,} accounts, {rows.get('records', 0):,} records, "
        f"{rows.get('sessions', 0):,} conversations; {manifest.files:,} files, {manifest.bytes:,} bytes, "
        f"taken {manifest.taken_at.isoformat(timespec='seconds')}"
    )


def _as_json(manifest: Manifest) -> Mapping[str, object]:
    return {
        "taken_at": manifest.taken_at.isoformat(),
        "contextfind": manifest.contextfind,
        "source": manifest.source,
        "position": manifest.position,
        "embedder": manifest.embedder,
        "files": manifest.files,
        "bytes": manifest.bytes,
        "counts": dict(manifest.counts),
        "damaged": list(manifest.damaged),
    }
