"""`health`: whether the server works, and what it holds."""

from contextfind.client import ClientError
from contextfind.toolbox.tool import Arguments, Desk, Told, Tool


class NoArguments(Arguments):
    """Nothing has to be said."""


async def _health(desk: Desk, _: NoArguments) -> Told:
    health, ready = await desk.client.health(), await desk.client.ready()
    word = "works" if health.healthy and ready.ready else "does not work in all parts"
    lines = [f"The server {word}: version {health.version}, {ready.status}."]
    lines += [f"{name}: {check}" for name, check in ready.checks.items() if check != "ok"]
    data: dict[str, object] = {"healthy": health.healthy, "ready": ready.ready}
    data["version"] = health.version
    try:
        status = await desk.client.status()
    except ClientError as error:  # its key may be wrong, and that is worth knowing
        lines.append(f"{error.code}: {error.message}")
        return Told("\n".join(lines), data)
    lines.append(f"You are user {status.user} of account {status.account} ({status.role}).")
    counts = {name: count for name, count in status.counts.items() if isinstance(count, int)}
    lines += [f"{name}: {count}" for name, count in counts.items()]
    return Told("\n".join(lines), {**data, "counts": counts})


HEALTH = Tool(
    "health",
    "Check the server",
    "Say whether the server works, who you are to it, and how much it holds. Take it when other tools fail.",
    NoArguments,
    _health,
)
