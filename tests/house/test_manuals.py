"""What the manuals tell to type and to write works."""

import json
import re

import pytest

from contextfind.cli.lazy import OFFERS
from contextfind.config.load import load_settings
from tests.house.reading import ROOT, code_blocks

MANUALS = [ROOT / "docs" / f"{name}.md" for name in ("quickstart", "migration", "tuning", "faq")]


def test_the_ov_conf_of_an_older_server_starts_and_all_that_is_ignored_is_told(tmp_path) -> None:
    page = ROOT / "docs/migration.md"
    (shown,) = code_blocks(page, "json")
    file = tmp_path / "ov.conf"
    file.write_text(shown, encoding="utf-8")
    keys = dict.fromkeys(re.findall(r"\$([A-Z_]+)", shown), "secret")
    loaded = load_settings(str(file), keys)
    assert loaded.settings.server.root_api_key == "secret"
    assert loaded.settings.storage.path == "./data"
    assert loaded.settings.embedding.model == json.loads(shown)["embedding"]["dense"]["model"]
    assert loaded.settings.rerank.provider == "volcengine"
    table = page.read_text(encoding="utf-8").rpartition("```\n")[0]
    assert [name for name in loaded.ignored_sections if name not in table] == []


@pytest.mark.parametrize("page", MANUALS, ids=lambda page: page.stem)
def test_commands_of_the_manuals_exist(page) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"(?:^|`|\.venv/bin/)contextfind ([a-z]+)\b", text, re.MULTILINE)
    assert named
    assert set(named) <= set(OFFERS)
