"""Jupyter notebooks as Markdown: texts as they are, code fenced, outputs left out."""

import json
from collections.abc import Iterator
from dataclasses import replace

from contextfind.domain.documents import Document
from contextfind.ingestion.parsing.data import read_json
from contextfind.ingestion.parsing.decoding import usable
from contextfind.ingestion.parsing.markdown import read_markdown


def read_notebook(path: str, text: str) -> Document:
    """Return the cells of a notebook in order; a file that is none is read as JSON."""
    try:
        parts = list(_cells(json.loads(text)))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return read_json(path, text)
    return replace(read_markdown(path, usable("\n\n".join(parts))), converted=True)


def _cells(notebook: dict[str, list[dict[str, str | list[str]]]]) -> Iterator[str]:
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip("\n")
        if source.strip():
            yield f"```\n{source}\n```" if cell["cell_type"] == "code" else source
