"""A folder as a user of the pipeline has it: an ov.conf, some documents."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.stubs.chat import StubChat

TREE = {
    "docs/heron.md": "# Heron\n\nThe heron sleeps by the river.\n",
    "docs/kettle.md": "# Kettle\n\nThe kettle is in the kitchen.\n",
    "docs/ops/回滚.md": "# 回滚\n\n先停止流量，再恢复数据库。\n",
}


@dataclass(frozen=True, slots=True)
class Desk:
    """config and data are what a pipeline is made with."""

    folder: Path
    config: Path
    data: Path

    @classmethod
    def make(cls, folder: Path, chat: StubChat | None, seconds: float) -> "Desk":
        """Write the files; the embedder is the hashed one, the chat model the stub, if any."""
        for name, text in TREE.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        settings: dict[str, object] = {"embedding": {"provider": "hash"}}
        if chat is not None:
            settings["vlm"] = {
                "model": "m",
                "api_base": chat.base_url,
                "api_key": "sk-secret-1234",
                "timeout": seconds,
            }
            settings["ingestion"] = {"model_summaries": False}
        (folder / "ov.conf").write_text(json.dumps(settings), encoding="utf-8")
        return cls(folder, folder / "ov.conf", folder / "data")

    @property
    def docs(self) -> Path:
        """The directory of documents."""
        return self.folder / "docs"
