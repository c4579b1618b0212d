"""The Python client: a method per route, typed answers, one tree of errors.

with Client("http://127.0.0.1:1933", api_key="…") as client:
    found = client.find("how do I roll back?", limit=5)

async with AsyncClient() as client:
    found = await client.find("how do I roll back?", limit=5)
"""

from contextfind.client.calls import AsyncClient, Client
from contextfind.client.failure import (
    AlreadyExistsError,
    ClientError,
    ConflictError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    TaskFailedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
)
from contextfind.client.wire import DEFAULT_URL

__all__ = [
    "DEFAULT_URL",
    "AlreadyExistsError",
    "AsyncClient",
    "Client",
    "ClientError",
    "ConflictError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InvalidArgumentError",
    "NotFoundError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "TaskFailedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
]
