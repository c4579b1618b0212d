"""What an uploaded file is: a tree or one file."""

from pathlib import Path

from contextfind.adapters.files.archive import ZipSource
from contextfind.adapters.files.directory import SingleFileSource
from contextfind.ports.sources import FileSource

_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")  # the second one: a zip without entries
_ZIP_INSIDE = frozenset(  # documents and programs that are zips too, and yet one file each
    (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub", ".jar", ".whl", ".apk")
)


def uploaded(file: Path, uploaded_as: str, shown: str) -> FileSource:
    """Return an upload as a source that is called `shown`; `uploaded_as`: the name that it was sent with."""
    if _is_zip(file, uploaded_as):
        return ZipSource(file, shown)
    return SingleFileSource(file, shown)


def _is_zip(file: Path, uploaded_as: str) -> bool:
    """Whether an upload is a tree: by its name, else by its first bytes."""
    suffix = Path(uploaded_as).suffix.lower()
    if suffix == ".zip":
        return True
    if suffix in _ZIP_INSIDE:
        return False
    with file.open("rb") as stream:
        return stream.read(4) in _ZIP_STARTS
