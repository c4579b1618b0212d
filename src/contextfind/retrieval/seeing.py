"""From a picture that was asked with to its vector."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contextfind.domain.errors import InvalidArgumentError, NotFoundError, UnavailableError
from contextfind.domain.identity import Identity
from contextfind.domain.images import (
    Image,
    ImageSource,
    InlineImage,
    RemoteImage,
    StoredImage,
    image_of,
    wrong_image,
)
from contextfind.domain.records import Vector
from contextfind.domain.scope import visible_to
from contextfind.ports import BlobStore, ImageEmbedder, ImageFetcher, RecordStore


@dataclass(frozen=True, slots=True)
class Sight:
    """What a picture is looked at with; a house whose embedder takes text only has none."""

    embedder: ImageEmbedder
    fetcher: ImageFetcher
    store: RecordStore
    blobs: BlobStore

    async def vector(self, identity: Identity, source: ImageSource) -> Vector:
        """Return the unit vector of the picture.

        Raises:
            InvalidArgumentError: no picture is there. NotFoundError: nothing is stored there.
            PermissionDeniedError: it lies in another user's tree.
            UnavailableError: the web or the embedder does not answer.

        """
        image = await self._image(identity, source)
        try:
            vector: Vector = (await self.embedder.embed_images([image]))[0]
        except UnavailableError as fault:
            raise unseen(fault) from fault
        return vector

    async def _image(self, identity: Identity, source: ImageSource) -> Image:
        match source:
            case InlineImage(data):
                return image_of(data, "data:image/…")
            case RemoteImage(url):
                return await self.fetcher.fetch(url)
            case StoredImage():
                return await self._stored(identity, source)

    async def _stored(self, identity: Identity, source: StoredImage) -> Image:
        """Read the bytes that a file was made from."""
        uri = source.uri
        records = await self.store.at(visible_to(identity, [uri]), uri)
        file = next((record for record in records if record.is_leaf), None)
        if file is None:
            raise NotFoundError(f"image_url: no file is stored at {uri.text!r}")
        try:
            data = await self.blobs.get(file.source or file.content)
        except NotFoundError:
            raise wrong_image(uri.text, "the address of a stored picture; this is text") from None
        return image_of(data, uri.text)


def text_only() -> InvalidArgumentError:
    """Return the refusal of a house that cannot look at pictures."""
    return InvalidArgumentError(
        "image_url is set, but the configured embedder takes text only; expected no image_url. To "
        "search by images, set embedding.provider to 'openai' with a multimodal embedding model "
        "and embedding.accepts_images to true",
        {"field": "image_url"},
    )


def unseen(fault: UnavailableError) -> UnavailableError:
    """Return the error of a picture whose vector cannot be had: there are no words to fall back on."""
    return UnavailableError(
        f"a picture is searched by its meaning alone, and the embedder gives none: {fault}",
        fault.details,
    )


def blended(vectors: Sequence[Vector]) -> Vector:
    """Return the direction in the middle of unit vectors: their mean, of unit length again.

    Text and picture count alike. Opposite vectors have no middle; then the first one stands.
    """
    mean = np.mean(np.stack(vectors), axis=0)
    length = float(np.linalg.norm(mean))
    vector: Vector = vectors[0] if length == 0 else (mean / length).astype(np.float32)
    return vector
