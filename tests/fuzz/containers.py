"""Mutating what is inside of a zip or an export, so that sizes and checksums still fit."""

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Mapping

from tests.fuzz.target import Mutation

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_LONGEST_NAME = 8_000  # bytes, of the 65,535 that a zip can say
_AS_IT_IS = 0.5  # of the inputs are mutated as bytes, container and all


def kneaded_zip(data: bytes, mutate: Mutation, chance: random.Random) -> bytes:
    """Return a zip with another name, content or attribute of an entry."""
    entries = _entries(data) if chance.random() > _AS_IT_IS else []
    if not entries:
        return mutate(data)
    at = chance.randrange(len(entries))
    info, content = entries[at]
    match chance.randrange(6):
        case 0:
            name = mutate(info.filename.encode())[:_LONGEST_NAME]
            info = zipfile.ZipInfo(name.decode("utf-8", "replace"))
        case 1:
            info.external_attr = chance.getrandbits(32)
        case 2:
            entries.append((info, content))
        case _:
            content = mutate(content)
    entries[at] = info, content
    return _packed(entries, chance)


def _entries(data: bytes) -> list[tuple[zipfile.ZipInfo, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(one, _unpacked(archive, one)) for one in archive.infolist()[:20]]
    except Exception:  # noqa: BLE001 - whatever a broken zip raises
        return []


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as stream:
        return stream.read(20_000)


def _packed(entries: list[tuple[zipfile.ZipInfo, bytes]], chance: random.Random) -> bytes:
    method = chance.choice(_METHODS)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for info, content in entries:
            copy = zipfile.ZipInfo(info.filename)
            copy.external_attr, copy.compress_type = info.external_attr, method
            archive.writestr(copy, content)
    return buffer.getvalue()


def kneaded_export(data: bytes, mutate: Mutation, chance: random.Random) -> bytes:
    """Return an export with another line, whose digests hold."""
    if not data.startswith(b"{") or chance.random() < _AS_IT_IS / 2:
        return mutate(data)
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    lines[at] = mutate(lines[at]).replace(b"\n", b"")
    if chance.random() < 0.1:
        lines.insert(at, lines[chance.randrange(len(lines))])
    return mended(b"\n".join(lines))


def mended(data: bytes) -> bytes:
    """Return an export whose block and end lines fit the others."""
    found: list[bytes] = []
    open_lines, records = b"", 0
    whole, totals = hashlib.sha256(), dict.fromkeys(_COUNTED, 0)
    for line in data.split(b"\n")[:-1]:
        told = _object(line)
        if "block" in told:
            digest = hashlib.sha256(open_lines).hexdigest()
            whole.update(digest.encode())
            found.append(_spelled({"block": {"records": records, "sha256": digest}}))
            open_lines, records = b"", 0
        elif "end" in told:
            found.append(_spelled({"end": {**totals, "sha256": whole.hexdigest()}}))
        else:
            found.append(line)
            records += "record" in told
            _count(told, totals)
            open_lines += line + b"\n"
    return b"\n".join(found) + b"\n"


_COUNTED = ("accounts", "records", "passages", "vectors", "sessions", "messages")


def _count(told: Mapping[str, object], totals: dict[str, int]) -> None:
    for key, value in told.items():
        if f"{key}s" in totals and isinstance(value, dict):
            totals[f"{key}s"] += 1
            for inner in ("passages", "messages"):
                found = value.get(inner)
                totals[inner] += len(found) if isinstance(found, list) else 0
            rows = value.get("passages")
            for row in rows if isinstance(rows, list) else ():
                totals["vectors"] += isinstance(row, dict) and row.get("vector") is not None


def _object(line: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _spelled(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode()
