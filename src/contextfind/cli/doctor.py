"""`doctor`: what would keep a server from working, and the next step."""

import asyncio
from typing import Annotated

import typer

from contextfind.cli.checks import (
    check_chats,
    check_models,
    check_reranker,
    check_surroundings,
)
from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.configuring import ConfigFile, DataDirectory, settings_from
from contextfind.cli.deep import check_data
from contextfind.cli.screen import console, show_json
from contextfind.config.load import Loaded
from contextfind.wiring.engine_checks import check_engines
from contextfind.wiring.findings import Finding, Verdict

STYLES = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red"}

app = typer.Typer()


@app.command("doctor")
def doctor(
    *,
    config: ConfigFile = None,
    data: DataDirectory = None,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Also read all data, byte by byte; the server must be stopped."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Findings as JSON.")] = False,
) -> None:
    """Check configuration, data, database, models and port; no server needed.

    The models are tried: in a temporary directory a text is written, embedded and found again, the reranker
    judges one, and each language model says a word.
    Exit code 1 when something fails.
    With --deep every page of the database, every text, every vector and the index are read, and nothing is changed.
    """
    findings = examined(config, data, deep=deep)
    if json:
        show_json([finding.as_json() for finding in findings])
    else:
        show_findings(findings)
    if any(finding.verdict is Verdict.FAIL for finding in findings):
        raise typer.Exit(ExitCode.FAILED)


def examined(config: str | None, data: str | None, *, deep: bool) -> list[Finding]:
    """Return what was seen of everything a server needs; takes as long as its models do."""
    try:
        loaded = settings_from(config, {"storage.path": data})
    except Complaint as complaint:
        message = str(complaint).removeprefix("configuration: ").partition("; check it with")[0]
        return [Finding("config", Verdict.FAIL, message, "correct it, then run doctor again")]
    settings = loaded.settings
    return [
        _about_config(loaded),
        *asyncio.run(check_engines(settings)),
        *check_surroundings(settings),
        asyncio.run(check_models(settings)),
        *asyncio.run(check_reranker(settings)),
        *asyncio.run(check_chats(settings)),
        *(check_data(settings) if deep else ()),
    ]


def _about_config(loaded: Loaded) -> Finding:
    if loaded.ignored_sections:
        names = ", ".join(loaded.ignored_sections)
        return Finding(
            "config", Verdict.WARN, f"{loaded.source}: {names} means nothing here", "take it out"
        )
    return Finding("config", Verdict.OK, loaded.source)


def show_findings(findings: list[Finding]) -> None:
    """Print a line for each."""
    screen = console()
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        step = f"; {finding.next_step}" if finding.next_step else ""
        screen.print(f"{finding.verdict.value:<5}", style=STYLES[finding.verdict], end="")
        screen.print(f"{finding.what:<{width}} {finding.line}{step}", soft_wrap=True)
