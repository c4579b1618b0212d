"""One collection of a Qdrant cluster, asked with a time limit; what goes wrong comes out as our own error."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any

from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import (
    ApiException,
    ResponseHandlingException,
    UnexpectedResponse,
)

from contextfind.domain.errors import UnavailableError

_PAGE = 4_096  # points of one answer when all that match are read
_DISTINCT = 65_536  # values that are counted; passages have some hundreds of different lengths
_TRANSIENT = frozenset({408, 409, 425, 429})
_SERVER_ERROR = 500
_LONGEST_REASON = 300


@asynccontextmanager
async def answering(timeout: float) -> AsyncIterator[None]:  # noqa: ASYNC109 - it is what is made here
    """Have what is asked inside answered in `timeout` seconds.

    Raises:
        UnavailableError: the cluster does not answer, not in time, or not what it should.

    """
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise _unavailable(f"gave no answer in {timeout:g} s") from error
    except UnexpectedResponse as error:
        raise _refusal(error) from error
    except ResponseHandlingException as error:
        source = error.source
        raise _unavailable(str(source) or type(source).__name__) from error
    except JSONDecodeError as error:
        raise _unavailable("answered with what is no JSON: is it a Qdrant?") from error
    except (ApiException, QdrantException) as error:
        raise _unavailable(str(error) or type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class Cluster:
    """A collection, or an alias of one.

    timeout: seconds that one request may take.
    """

    client: AsyncQdrantClient
    name: str
    timeout: float

    async def ask(self, requests: Sequence[models.QueryRequest]) -> list[list[models.ScoredPoint]]:
        """Answer several searches in one round trip, in order; the best points first.

        Raises:
            UnavailableError: no answer.

        """
        if not requests:
            return []
        async with answering(self.timeout):
            answers = await self.client.query_batch_points(self.name, list(requests))
            return [answer.points for answer in answers]

    async def count(self, where: models.Filter) -> int:
        """Return how many points match, exactly."""
        async with answering(self.timeout):
            answer = await self.client.count(self.name, count_filter=where, exact=True)
            return answer.count

    async def tally(self, field: str, where: models.Filter) -> dict[int, int]:
        """Return how many of the points that match have which number in a field, exactly."""
        async with answering(self.timeout):
            answer = await self.client.facet(
                self.name, key=field, facet_filter=where, limit=_DISTINCT, exact=True
            )
            return {int(hit.value): hit.count for hit in answer.hits}

    async def read(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return what points say, of those that are there."""
        async with answering(self.timeout):
            points = await self.client.retrieve(self.name, list(ids), with_payload=True)
            return {str(point.id): point.payload or {} for point in points}

    async def select(self, where: models.Filter, fields: Iterable[str]) -> list[dict[str, Any]]:
        """Return some fields of all points that match, page by page."""
        wanted, offset = list(fields), None
        rows: list[dict[str, Any]] = []
        while True:
            async with answering(self.timeout):
                points, offset = await self.client.scroll(
                    self.name, where, limit=_PAGE, offset=offset, with_payload=wanted
                )
            rows.extend(point.payload or {} for point in points)
            if offset is None:
                return rows

    async def update(self, steps: Sequence[models.UpdateOperation]) -> None:
        """Take steps in order; when this returns, every search sees them."""
        async with answering(self.timeout):
            await self.client.batch_update_points(
                self.name, list(steps), wait=True, ordering=models.WriteOrdering.STRONG
            )


def _refusal(answer: UnexpectedResponse) -> UnavailableError:
    status = answer.status_code or 0
    content = answer.content.decode("utf-8", "replace")
    told = " ".join(content.split())[:_LONGEST_REASON] or answer.reason_phrase
    return _unavailable(
        f"answered {status}: {told}", lasting=status not in _TRANSIENT and status < _SERVER_ERROR
    )


def _unavailable(reason: str, *, lasting: bool = False) -> UnavailableError:
    return UnavailableError(f"the search index (Qdrant) {reason}", {"retryable": not lasting})
