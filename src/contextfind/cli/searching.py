"""`search`: a find in a conversation."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from contextfind.cli.connection import Connection, client_command
from contextfind.cli.finding import (
    Query,
    conditions,
    narrowed,
    options_of,
    show_found,
    warn,
)
from contextfind.cli.screen import say, short, show, show_json, table
from contextfind.client.findings import Plan, PlannedQuery

app = typer.Typer()


@client_command(app, "search", conditions)
async def search(
    connection: Connection,
    query: Query = "",
    *,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="The conversation in which it is asked.")
    ] = None,
    **given: Any,
) -> None:
    """Find what a question means in a conversation.

    First the plan: what was searched in its place, most urgent first, and why; then the hits.
    """
    found = await connection.client.search(query, session, **options_of(given))
    warn(found)
    if connection.as_json:
        show_json(found.raw)
        return
    plan = found.query_plan
    if plan is not None:
        show_plan(plan)
    if plan is not None and not plan.queries and not found.total and query.strip():
        say("nothing was searched")
    else:
        show_found(found, asked=query.strip() != "", narrowed=narrowed(given))


def show_plan(plan: Plan) -> None:
    """Show what was searched in place of a question, and why."""
    show(Text(f"plan: {short(plan.reasoning, 400)}"))
    if plan.queries:
        show(_queries(plan.queries))
    show("")


def _queries(queries: Sequence[PlannedQuery]) -> Any:
    made = table("priority", "type", "intent", "query")
    for one in queries:
        made.add_row(
            str(one.priority), one.context_type or "all", short(one.intent), short(one.query)
        )
    return made
