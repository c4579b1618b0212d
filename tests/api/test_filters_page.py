"""Every example of docs/filters.md does what the page says."""

import json
import re

import pytest

from contextfind.domain.filter_bounds import BOUNDS
from contextfind.domain.filter_text import MAX_DEPTH, MAX_NODES, MAX_VALUES
from contextfind.domain.filters import Everything
from tests.api.caller import FIND, error_of, result_of
from tests.house.reading import ROOT, code_blocks

PAGE = ROOT / "docs/filters.md"
TEXT = PAGE.read_text(encoding="utf-8")
REFUSED = re.findall(r"^\| `(\{.+\})` \| (filter.+) \|$", TEXT, re.MULTILINE)
OPERATORS = ["must", "must_not", "range", "range_out", "time_range", "prefix", "contains"]


@pytest.mark.parametrize("example", code_blocks(PAGE, "json"))
async def test_an_example_is_accepted_without_a_query(api, example):
    assert result_of(await api.find(filter=json.loads(example)))["total"] == 0
    assert api.house.finder.question.where != Everything()


@pytest.mark.parametrize("command", code_blocks(PAGE, "bash"))
async def test_a_command_is_a_find_that_is_answered(api, command):
    assert FIND in command
    [body] = re.findall(r"-d '(.+)'", command, re.DOTALL)
    assert result_of(await api.find(**json.loads(body)))["total"] == 0


@pytest.mark.parametrize(("example", "message"), REFUSED)
async def test_a_refusal_is_told_as_the_page_tells_it(api, example, message):
    error = error_of(await api.find(filter=json.loads(example)), 400, "INVALID_ARGUMENT")
    assert error["message"] == message


def test_the_page_has_every_operator_bound_and_limit():
    assert len(REFUSED) >= 5
    rows = "\n".join(re.findall(r"^\| `[^{].*$", TEXT, re.MULTILINE))
    assert [
        name for name in (*OPERATORS, *BOUNDS, "and", "or", "not") if f"`{name}`" not in rows
    ] == []
    assert f"{MAX_NODES} conditions, {MAX_DEPTH} levels or {MAX_VALUES:,} values" in TEXT
