"""Stand-ins for engines and models: deterministic, instant, honest to their ports."""

import re


class SimpleTokenizer:
    """A `Tokenizer` that knows lower-case letters and digits."""

    def terms(self, text: str) -> list[str]:
        """Return the runs of letters and digits, in lower case."""
        return re.findall(r"[^\W_]+", text.lower())
