"""`session`: conversations, from the first message to what is left of it."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from contextfind.cli.browsing import changed
from contextfind.cli.complaint import Complaint, ExitCode
from contextfind.cli.connection import Connection, client_command
from contextfind.cli.screen import say, short, show, show_json, show_text, table
from contextfind.client import TaskFailedError
from contextfind.client.conversations import Archive, Committed, Message

STDIN = "-"

session = typer.Typer(help="Start, continue, look at or end a conversation.", no_args_is_help=True)
app = typer.Typer()
app.add_typer(session, name="session")

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="As session list shows it.")]


@client_command(session, "session new")
async def new(
    connection: Connection,
    session_id: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="Its name; absent: a fresh one.")
    ] = None,
) -> None:
    """Start a conversation and print its name; the first message of an unknown one does so too."""
    made = await connection.client.create_session(session_id)
    _show(connection, made.raw, made.session_id)


@client_command(session, "session list")
async def list_sessions(
    connection: Connection,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1)] = 100,
    offset: Annotated[int, typer.Option(min=0, help="Leave out this many first.")] = 0,
) -> None:
    """List your conversations, the last changed one first."""
    page = await connection.client.list_sessions(limit=limit, offset=offset)
    if connection.as_json:
        show_json([line.raw for line in page.sessions])
        return
    made = table("changed", "session")
    for line in page.sessions:
        made.add_row(changed(line.mod_time), line.session_id)
    show(made if page.sessions else "(none)")
    if page.has_more:
        say(f"there is more: --offset {offset + len(page.sessions)}")


@client_command(session, "session show")
async def show_session(connection: Connection, session_id: SessionId) -> None:
    """Show how long a conversation is, and what became of it."""
    one = await connection.client.get_session(session_id)
    if connection.as_json:
        show_json(one.raw)
        return
    made = table("what", "value")
    for name, value in {
        "session": one.session_id,
        "messages": f"{one.message_count} (and {one.archived_message_count} archived)",
        "tokens": f"{one.pending_tokens} in these messages",
        "commits": one.commit_count,
        "memories": one.memories_extracted.get("total", 0),
        "started": changed(one.created_at),
        "last message": changed(one.last_message_at) or "never",
        "last commit": changed(one.last_commit_at) or "never",
    }.items():
        made.add_row(name, str(value))
    show(made)


@client_command(session, "session say")
async def say_in(
    connection: Connection,
    session_id: SessionId,
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="What is said; - is stdin.")],
    role: Annotated[
        str, typer.Option("--role", "-r", help="Who says it: user, assistant, tool, ….")
    ] = "user",
    message_id: Annotated[
        str | None, typer.Option("--id", help="Said once only, however often it is sent.")
    ] = None,
) -> None:
    """Add a message to a conversation."""
    content = _stdin() if text == STDIN else text
    done = await connection.client.add_message(session_id, role, content, message_id=message_id)
    again = ", this one was there already" if done.added == 0 else ""
    line = f"{done.session_id}  {done.message_count} messages, {done.pending_tokens} tokens{again}"
    _show(connection, done.raw, line)


@client_command(session, "session context")
async def context(
    connection: Connection,
    session_id: SessionId,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=0, help="Tokens it may cost at most.")
    ] = None,
) -> None:
    """Print what a model should be told of a conversation: summaries, then the last messages."""
    told = await connection.client.session_context(session_id, budget)
    if connection.as_json:
        show_json(told.raw)
        return
    for archive in told.pre_archive_abstracts:
        show_text(f"[{archive.archive_id}] {archive.abstract}")
    if told.latest_archive_overview:
        show_text(told.latest_archive_overview)
    _show_messages(told.messages)
    say(f"{told.estimated_tokens} tokens")


@client_command(session, "session commit")
async def commit(
    connection: Connection,
    session_id: SessionId,
    keep: Annotated[
        int | None, typer.Option("--keep", min=0, help="Leave the last so many as they are.")
    ] = None,
    *,
    wait: Annotated[bool, typer.Option(help="Return when the summary is written.")] = True,
) -> None:
    """Archive what was said, summarise it, and remember what is worth it."""
    try:
        done = await connection.client.commit_session(session_id, keep, wait=wait)
    except TaskFailedError as error:
        raise Complaint(
            f"the messages are archived, but: {error}", ExitCode.FAILED, error.code
        ) from error
    shown = done.raw if done.task is None else {**done.raw, "task": done.task.raw}
    _show(connection, shown, _told(done))
    note = (done.task.result or {}).get("note") if done.task else None
    if note:
        say(str(note), style="yellow")


@client_command(session, "session archives")
async def archives(
    connection: Connection,
    session_id: SessionId,
    archive_id: Annotated[
        str | None,
        typer.Argument(metavar="ARCHIVE", help="Print this one; absent: list all."),
    ] = None,
) -> None:
    """List what was archived of a conversation, or print one archive."""
    if archive_id is None:
        found = await connection.client.session_archives(session_id)
        if connection.as_json:
            show_json([archive.raw for archive in found])
        else:
            _show_archives(found)
        return
    archive = await connection.client.session_archive(session_id, archive_id)
    if connection.as_json:
        show_json(archive.raw)
        return
    show_text(archive.overview or archive.abstract or f"({archive.error or archive.status})")
    _show_messages(archive.messages)


@client_command(session, "session rm")
async def rm(connection: Connection, session_id: SessionId) -> None:
    """Remove a conversation with its messages and archives; what was remembered of it stays."""
    await connection.client.delete_session(session_id)
    _show(connection, {"session_id": session_id}, f"removed {session_id}")


def _show(connection: Connection, answer: Mapping[str, object], line: str) -> None:
    if connection.as_json:
        show_json(answer)
    else:
        show_text(line)


def _told(done: Committed) -> str:
    if not done.task_id:
        return f"{done.session_id}  nothing to archive"
    if done.task is None:
        return f"{done.session_id}  archived, is being summarised (task {done.task_id})"
    result = done.task.result or {}
    counted = result.get("memories_extracted", 0)
    memories = sum(counted.values()) if isinstance(counted, Mapping) else counted
    return f"{done.session_id}  archived and summarised, {memories} memories"


def _show_archives(found: Sequence[Archive]) -> None:
    made = table("archive", "made", "state", "messages", "abstract")
    for one in found:
        said = one.abstract or one.error
        row = (one.archive_id, changed(one.created_at), one.status, str(one.message_count))
        made.add_row(*row, short(said, 100))
    show(made if found else "(none)")


def _show_messages(messages: Sequence[Message]) -> None:
    for message in messages:
        show_text(f"{message.role}: {message.text}")


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise Complaint("what comes from stdin is no UTF-8 text", ExitCode.USAGE) from error
