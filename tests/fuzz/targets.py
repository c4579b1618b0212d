"""All that is fuzzed, by name."""

from tests.fuzz.file_targets import FILES
from tests.fuzz.house_targets import HOUSES
from tests.fuzz.target import Target
from tests.fuzz.text_targets import TEXTS

TARGETS: dict[str, Target] = {target.name: target for target in (*FILES, *TEXTS, *HOUSES)}
