"""`init`: look what is there, ask a few questions, write ov.conf, check it, say the next command."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.doctor import examined, show_findings
from contextfind.cli.init_survey import Model, Survey, survey
from contextfind.cli.screen import complain, say
from contextfind.config.load import HERE
from contextfind.config.storage import StorageSettings
from contextfind.wiring.findings import Verdict

KEY_NAME = "CONTEXTFIND_API_KEY"
LOCAL = Model("embedding", "local", "", provider="local", here=True)
EVERYWHERE = "0.0.0.0"  # noqa: S104 - only when the person says so, and never without a key

_QUESTIONS = {
    "embedding": "Which model embeds texts?",
    "vlm": "Which language model writes summaries, memories and plans?",
    "rerank": "Which reranker judges the hits of a search?",
}
_ABOUT = {"local": "multilingual-e5-small, comes with contextfind", "none": "do without"}

app = typer.Typer()


@app.command("init")
def init(  # noqa: PLR0913 - a command line is its options
    *,
    config: Annotated[
        Path, typer.Option("--config", "-c", metavar="FILE", help="Where to write.")
    ] = HERE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing, take defaults.")] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write where a file is; the old one is kept as FILE.old."),
    ] = False,
    embedder: Annotated[
        str | None, typer.Option(help="As offered: local, ollama/NAME, openai/NAME…")
    ] = None,
    chat: Annotated[
        str | None, typer.Option(help="Language model, as offered: none, ollama/NAME…")
    ] = None,
    rerank: Annotated[
        str | None, typer.Option(help="Reranker, as offered: none, jina/NAME…")
    ] = None,
    data: Annotated[str | None, typer.Option(metavar="DIR", help="The data directory.")] = None,
    network: Annotated[
        bool | None,
        typer.Option("--network/--local", help="Let other machines in, with a key; or not."),
    ] = None,
    doctor: Annotated[
        bool, typer.Option("--doctor/--no-doctor", help="Try what was written.")
    ] = True,
) -> None:
    """Write ov.conf from what is found here, and try it.

    Looks for Ollama and for keys of providers in the environment. Keys are written as names ($OPENAI_API_KEY), never in
    clear. By default nothing leaves this machine.
    """
    try:
        _refuse_to_overwrite(config, force=force)
        found = survey(os.environ)
        _tell(found)
        given = {"embedding": embedder, "vlm": chat, "rerank": rerank}
        chosen = [_chosen(kind, found, given[kind], yes=yes) for kind in _QUESTIONS]
        place = _place(data, yes=yes)
        opened = _opened(network, yes=yes)
        _write(config, content_of(chosen, place, opened=opened))
        _warn_of_scores(chosen[0])
    except typer.Abort:
        complain(Complaint("nothing was written; --yes takes all defaults", ExitCode.FAILED))
        raise typer.Exit(ExitCode.FAILED) from None
    except Complaint as complaint:
        complain(complaint)
        raise typer.Exit(complaint.exit_code) from complaint
    _end(config, opened=opened, doctor=doctor)


def content_of(
    chosen: Sequence[Model | None], place: str, *, opened: bool
) -> dict[str, dict[str, object]]:
    """Return what stands in ov.conf: what was chosen, and no default that goes without saying."""
    content: dict[str, dict[str, object]] = {}
    if opened:
        content["server"] = {"host": EVERYWHERE}
    content["storage"] = {"path": place}
    for model in chosen:
        if model is None:
            continue
        section: dict[str, object] = {"provider": model.provider}
        told = {"model": model.model, "api_base": model.api_base}
        section |= {name: value for name, value in told.items() if value}
        if model.key_name:
            section["api_key"] = f"${model.key_name}"
        content[model.kind] = section | dict(model.extra)
    return content


def _refuse_to_overwrite(config: Path, *, force: bool) -> None:
    if config.exists() and not (force and config.is_file()):
        raise Complaint(
            f"{config} is there already; --force writes it anew, --config FILE takes another",
            ExitCode.USAGE,
            "ALREADY_EXISTS",
        )


def _tell(found: Survey) -> None:
    if found.ollama:
        count = sum(model.label.startswith("ollama/") for model in found.models)
        say(f"found  Ollama at {found.ollama}, {count} models", style="green")
    for name in found.key_names:
        say(f"found  {name} in the environment", style="green")
    if not found.ollama and not found.key_names:
        say("found  no Ollama and no key of a provider; none is needed", style="green")


def _chosen(kind: str, found: Survey, given: str | None, *, yes: bool) -> Model | None:
    """Return the model for a section: as given, as answered, or what needs nothing from elsewhere."""
    usual = LOCAL if kind == "embedding" else None
    offer: dict[str, Model | None] = {usual.label if usual else "none": usual}
    offer |= {model.label: model for model in found.of(kind)}
    if given is not None:
        if given not in offer:
            raise Complaint(f"{given!r} is not there; there are {', '.join(offer)}", ExitCode.USAGE)
        return offer[given]
    labels = list(offer)
    if yes or len(labels) == 1:
        return usual
    say("")
    say(_QUESTIONS[kind], style="bold")
    for number, label in enumerate(labels, start=1):
        say(f"  {number}  {label}{_remark(label, offer[label])}")
    number = typer.prompt("  number", default="1", value_proc=_numbered(labels), err=True)
    return offer[labels[number - 1]]


def _numbered(labels: Sequence[str]) -> Callable[[str], int]:
    """Return what reads a number of the list, and has it asked for again when it is none."""

    def read(text: str) -> int:
        if text.strip() in map(str, range(1, len(labels) + 1)):
            return int(text)
        raise typer.BadParameter(f"a number from 1 to {len(labels)}, please")

    return read


def _remark(label: str, model: Model | None) -> str:
    if label in _ABOUT:
        return f"  ({_ABOUT[label]})"
    if model is not None and not model.here:
        return f"  (texts are sent to {model.api_base or model.provider})"
    return ""


def _place(data: str | None, *, yes: bool) -> str:
    usual = StorageSettings().path
    if data is not None or yes:
        return data or usual
    say("")
    return str(typer.prompt("Where shall the data lie?", default=usual, err=True))


def _opened(network: bool | None, *, yes: bool) -> bool:  # noqa: FBT001 - three answers
    if network is not None or yes:
        return bool(network)
    say("")
    return typer.confirm("Shall other machines reach it, with a key?", default=False, err=True)


def _write(config: Path, content: Mapping[str, object]) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    try:
        if config.exists():
            config.replace(config.with_name(f"{config.name}.old"))
        config.parent.mkdir(parents=True, exist_ok=True)
        with config.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Complaint(f"{config} cannot be written: {error.strerror}", ExitCode.USAGE) from error
    say("")
    say(
        f"wrote  {config} (JSON, so without comments; docs/configuration.md has every key)", "green"
    )


def _warn_of_scores(embedder: Model | None) -> None:
    if embedder not in (None, LOCAL):
        say("note   what a score means is fitted to each embedder by: contextfind calibrate")


def _end(config: Path, *, opened: bool, doctor: bool) -> None:
    """Try what was written, and say what to type now."""
    option = "" if config == HERE else f" --config {config}"
    missing = opened and not os.environ.get(KEY_NAME)
    failed = False
    if doctor and not missing:
        findings = examined(str(config), None, deep=False)
        show_findings(findings)
        failed = any(finding.verdict is Verdict.FAIL for finding in findings)
    if failed:
        say(f"next   mend what failed, then: contextfind doctor{option}", "bold")
        raise typer.Exit(ExitCode.FAILED)
    if missing:
        say(f"next   export {KEY_NAME}=$(openssl rand -hex 32)", "bold")
    say(f"next   contextfind serve ./docs{option}", "bold")
