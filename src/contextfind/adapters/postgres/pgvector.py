"""Where the type `vector` is: an extension lies in a schema of its own choice, often not in public."""

import psycopg
from psycopg import AsyncConnection

from contextfind.adapters.postgres.place import quoted
from contextfind.domain.errors import FailedPreconditionError

# usable: we may name what lies in its schema.
LOCATED = """
    SELECT n.nspname::text AS schema, has_schema_privilege(n.oid, 'USAGE') AS usable, current_user::text AS role
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""


async def located(connection: AsyncConnection) -> str:
    """Return the schema in which pgvector lies; it is added where that is ours to do, as most databases do not have it.

    Raises:
        FailedPreconditionError: it is not there, or in a schema that is closed to us.

    """
    row = await _row(connection)
    if row is None:
        await _add(connection)
        row = await _row(connection) or ("public", True, "")
    schema, usable, role = row
    if not usable:
        raise FailedPreconditionError(
            f"pgvector lies in schema {schema}, which is closed to {role}; as its owner: {opening(schema, role)}"
        )
    return schema


def opening(schema: str, role: str) -> str:
    """Return the statement that lets a role use what lies in a schema."""
    return f"GRANT USAGE ON SCHEMA {quoted(schema)} TO {quoted(role)}"


async def _add(connection: AsyncConnection) -> None:
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
    except psycopg.Error as error:
        raise FailedPreconditionError(
            "the database has no pgvector; install it (0.8 or newer) where PostgreSQL runs, and have a superuser "
            "say once in this database: CREATE EXTENSION vector"
        ) from error


async def _row(connection: AsyncConnection) -> tuple[str, bool, str] | None:
    row = await (await connection.execute(LOCATED)).fetchone()
    return None if row is None else (str(row[0]), bool(row[1]), str(row[2]))
