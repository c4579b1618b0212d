"""What the services are given of ov.conf."""

from dataclasses import asdict, fields

import pytest

from contextfind.config.model import RetrievalSettings
from contextfind.domain.scoring import ScoreRules
from contextfind.wiring.services import score_rules


def test_without_settings_scores_are_made_by_the_defaults_of_the_scorer() -> None:
    assert score_rules(RetrievalSettings()) == ScoreRules()


@pytest.mark.parametrize("knob", [field.name for field in fields(ScoreRules)])
def test_each_knob_of_the_scorer_is_set_by_the_setting_of_its_name(knob: str) -> None:
    rules = score_rules(RetrievalSettings.model_validate({knob: 0.125}))
    assert asdict(rules) == asdict(ScoreRules()) | {knob: 0.125}
