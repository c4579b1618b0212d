"""The engines outside of the process, looked at: a database, a cluster."""

from contextfind.config.model import Settings
from contextfind.domain.errors import FailedPreconditionError
from contextfind.wiring.extras import fetched
from contextfind.wiring.findings import Finding, Verdict


async def check_engines(settings: Settings) -> list[Finding]:
    """Look at the database and the cluster that the settings name; nothing is changed, nothing made.

    Returns findings in the order in which a start meets these things; none where all is in the data directory.
    """
    found: list[Finding] = []
    fingerprint: str | None = None
    position: int | None = None
    try:
        if settings.storage.backend == "postgres":
            checks = fetched("postgres_checks", "postgres", "storage.backend 'postgres'")
            told, seen = await checks.check_postgres(settings)
            found.extend(told)
            if seen is not None and seen.schema is not None:
                fingerprint, position = seen.schema.fingerprint, seen.schema.position
        if settings.index_backend == "qdrant":
            checks = fetched("qdrant_checks", "qdrant", "index.backend 'qdrant'")
            found.extend(await checks.check_qdrant(settings, fingerprint, position))
    except FailedPreconditionError as error:  # a package, or a connection string
        found.append(Finding("engine", Verdict.FAIL, str(error)))
    return found
