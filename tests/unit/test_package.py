"""What the package offers by its own name, and at what cost."""

import subprocess
import sys

import pytest

import contextfind


def test_importing_the_package_loads_no_engine() -> None:
    code = (
        "import sys, contextfind; "
        "assert not {'numpy', 'pydantic', 'contextfind.wiring'} & set(sys.modules); "
        "from contextfind import RAGQueryPipeline, AsyncRAGQueryPipeline"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own words
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = contextfind.Nothing
