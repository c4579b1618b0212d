from pathlib import Path

from contextfind.config.layers import SECTIONS
from contextfind.config.reference import render_reference

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"
MARK = "<!-- from here on written by contextfind.config.reference -->\n"


def test_the_page_shows_the_model_as_it_is() -> None:
    assert PAGE.read_text("utf-8").partition(MARK)[2] == "\n" + render_reference()


def test_every_key_has_a_meaning() -> None:
    for name, section in SECTIONS.items():
        for key, info in section.model_fields.items():
            assert info.description, f"{name}.{key}"
