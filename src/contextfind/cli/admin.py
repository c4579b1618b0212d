"""`accounts`, `users`, `keys`: needs a root or admin key."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

from contextfind.cli.connection import Connection, client_command
from contextfind.cli.screen import say, show, show_json, show_text, table

accounts = typer.Typer(help="List or create accounts (root key).", no_args_is_help=True)
users = typer.Typer(help="List or create the users of an account.", no_args_is_help=True)
keys = typer.Typer(help="List, create or revoke keys.", no_args_is_help=True)
app = typer.Typer()
app.add_typer(accounts, name="accounts")
app.add_typer(users, name="users")
app.add_typer(keys, name="keys")

AccountId = Annotated[str, typer.Argument(metavar="ACCOUNT")]
UserId = Annotated[str, typer.Argument(metavar="USER")]


@client_command(accounts, "accounts list")
async def list_accounts(connection: Connection) -> None:
    """List all accounts."""
    _show_rows(connection, await connection.client.accounts())


@client_command(accounts, "accounts create")
async def create_account(
    connection: Connection,
    account: AccountId,
    admin: Annotated[str, typer.Option(help="Its first user.")] = "admin",
) -> None:
    """Create an account with one admin user, and print that user's key (only this once)."""
    _show_key(connection, await connection.client.add_account(account, admin))


@client_command(users, "users list")
async def list_users(connection: Connection, account: AccountId) -> None:
    """List the users of an account."""
    _show_rows(connection, await connection.client.users(account))


@client_command(users, "users create")
async def create_user(
    connection: Connection,
    account: AccountId,
    user: UserId,
    role: Annotated[
        Literal["user", "admin"], typer.Option(help="An admin may add users.")
    ] = "user",
) -> None:
    """Create a user, and print the first key (only this once)."""
    _show_key(connection, await connection.client.add_user(account, user, role))


@client_command(keys, "keys list")
async def list_keys(connection: Connection) -> None:
    """List the keys in force, without their secrets."""
    _show_rows(connection, await connection.client.keys())


@client_command(keys, "keys create")
async def create_key(
    connection: Connection,
    account: AccountId,
    user: UserId,
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
) -> None:
    """Create one more key for a user, and print it (only this once)."""
    _show_key(connection, await connection.client.add_key(account, user, label))


@client_command(keys, "keys revoke")
async def revoke_key(
    connection: Connection, key_id: Annotated[str, typer.Argument(metavar="KEY_ID")]
) -> None:
    """Revoke a key; it stops working at once."""
    await connection.client.revoke_key(key_id)
    if connection.as_json:
        show_json({"key_id": key_id, "revoked": True})
    else:
        show(f"revoked {key_id}")


def _show_rows(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    if connection.as_json:
        show_json(rows)
        return
    if not rows:
        show("(none)")
        return
    made = table(*rows[0])
    for row in rows:
        made.add_row(*("" if row.get(column) is None else str(row[column]) for column in rows[0]))
    show(made)


def _show_key(connection: Connection, answer: Mapping[str, Any]) -> None:
    if connection.as_json:
        show_json(answer)
        return
    say("this key is shown only now; keep it safe", style="yellow")
    show_text(str(answer.get("user_key") or answer.get("key")))
