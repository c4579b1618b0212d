"""What a model is told when something fails: what happened, and what to do next."""

from collections.abc import Mapping

from pydantic import ValidationError

from contextfind.client import ClientError

_HINTS: Mapping[str, str] = {
    "NOT_FOUND": "Look what is there with list or find.",
    "INVALID_URI": "An address looks like viking://resources/handbook/guide.md.",
    "UNAUTHENTICATED": "The key has to be set where this MCP server is configured; ask the user.",
    "PERMISSION_DENIED": "The key does not allow this; ask the user.",
    "DEADLINE_EXCEEDED": "It may have happened all the same; look before you do it again.",
}
_MISTAKEN: Mapping[str, str] = {  # by what the address really is; the server's words name routes
    "directory": "{uri} is a directory: list it, or read its summary at {uri}/.overview.md",
    "file": "{uri} is a file: read it",
}
_SHOWN = 5  # mistakes of one call; who makes more sees the schema again anyway


def failure_text(error: ClientError) -> str:
    """Return the error's code and message, with the next step where there is one."""
    mistaken = _MISTAKEN.get(str(error.details.get("actual")))
    if mistaken is not None:
        told = mistaken.format(uri=str(error.details.get("resource", "it")).rstrip("/"))
        return f"{error.code}: {told}"
    hint = _HINTS.get(error.code, "") if error.status is not None else ""
    return f"{error.code}: {error.message}" + (f"\n{hint}" if hint else "")


def mistakes_text(error: ValidationError) -> str:
    """Return what is wrong with the arguments of a call, a line for each, without what was sent."""
    found = [
        f"{'.'.join(str(step) for step in one['loc']) or 'arguments'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False)
    ]
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return "\n".join(["INVALID_ARGUMENT: the arguments are wrong", *found[:_SHOWN], *more])
