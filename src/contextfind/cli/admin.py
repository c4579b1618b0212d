"""`accounts`, `users`, `keys`: needs a root or admin key, but for one's own keys."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

from contextfind.cli.connection import Connection, client_command
from contextfind.cli.screen import say, show, show_json, show_text, table

accounts = typer.Typer(help="List or create accounts (root key).", no_args_is_help=True)
users = typer.Typer(
    help="List, create, change or remove the users of an account.", no_args_is_help=True
)
keys = typer.Typer(help="List, create, rotate or revoke keys.", no_args_is_help=True)
app = typer.Typer()
app.add_typer(accounts, name="accounts")
app.add_typer(users, name="users")
app.add_typer(keys, name="keys")

AccountId = Annotated[str, typer.Argument(metavar="ACCOUNT")]
UserId = Annotated[str, typer.Argument(metavar="USER")]
KeyId = Annotated[str, typer.Argument(metavar="KEY_ID", help="As keys list shows it.")]


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
    *,
    restore: Annotated[
        bool, typer.Option("--restore", help="Bring a removed user back, with its tree.")
    ] = False,
) -> None:
    """Create a user, and print the first key (only this once)."""
    answer = await connection.client.add_user(account, user, role, restore=restore)
    _show_key(connection, answer)


@client_command(users, "users role")
async def change_role(
    connection: Connection,
    account: AccountId,
    user: UserId,
    role: Annotated[Literal["user", "admin"], typer.Argument(metavar="ROLE")],
) -> None:
    """Give a user another role (user or admin); it holds for all its keys at once."""
    answer = await connection.client.set_role(account, user, role)
    _show_done(connection, answer, f"{user} has the role {role}")


@client_command(users, "users remove")
async def remove_user(connection: Connection, account: AccountId, user: UserId) -> None:
    """Remove a user; its keys stop working at once, its tree stays."""
    answer = await connection.client.remove_user(account, user)
    _show_done(connection, answer, f"removed {user}; keys revoked: {answer.get('revoked_keys')}")


@client_command(keys, "keys list")
async def list_keys(
    connection: Connection,
    account: Annotated[str | None, typer.Option(help="Only those of one account.")] = None,
) -> None:
    """List the keys in force, your own or all you rule, with their last use, without secrets."""
    rows = await connection.client.keys(account)
    never = {} if connection.as_json else {"last_used_at": "never"}
    _show_rows(connection, [{**row, **(never if _is_unused(row) else {})} for row in rows])


@client_command(keys, "keys create")
async def create_key(
    connection: Connection,
    account: AccountId,
    user: UserId,
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
) -> None:
    """Create one more key for a user, and print it (only this once)."""
    _show_key(connection, await connection.client.add_key(account, user, label))


@client_command(keys, "keys rotate")
async def rotate_key(connection: Connection, key_id: KeyId) -> None:
    """Give a key another secret and print it (only this once); the old one is dead at once."""
    _show_key(connection, await connection.client.rotate_key(key_id))


@client_command(keys, "keys renew")
async def renew_key(connection: Connection, account: AccountId, user: UserId) -> None:
    """End all keys of a user, and print a new one (only this once)."""
    _show_key(connection, await connection.client.renew_key(account, user))


@client_command(keys, "keys revoke")
async def revoke_key(connection: Connection, key_id: KeyId) -> None:
    """Revoke a key; it stops working at once."""
    await connection.client.revoke_key(key_id)
    _show_done(connection, {"key_id": key_id, "revoked": True}, f"revoked {key_id}")


def _is_unused(key: Mapping[str, Any]) -> bool:
    return "last_used_at" in key and key["last_used_at"] is None


def _show_done(connection: Connection, answer: Mapping[str, Any], line: str) -> None:
    if connection.as_json:
        show_json(answer)
    else:
        show(line)


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
