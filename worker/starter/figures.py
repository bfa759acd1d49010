"""Measured numbers of the starter model, in `starter-arith.figures.json`."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from worker.starter.phrasings import DEMO


def figures_path(folder: Path) -> Path:
    """Path of the figures, outside the checkpoint's folder, because a model's hash covers its JSON files."""
    return folder.with_name(f"{folder.name}.figures.json")


@dataclass(frozen=True)
class SampleShares:
    samples: int
    accuracy: float
    worked_share: float
    hasty_accuracy: float
    worked_accuracy: float
    mean_tokens: float


@dataclass(frozen=True)
class DemoRun:
    steps: int
    reward_before: float
    reward_after: float
    length_before: float
    length_after: float
    seconds: float


@dataclass(frozen=True)
class Figures:
    """Measurements of one checkpoint for each phrasing, the demo's first."""

    hidden: int
    parameters: int
    seed: int
    phrasings: dict[str, SampleShares]
    demo: DemoRun | None = None

    @property
    def base(self) -> SampleShares:
        return self.phrasings[DEMO]

    def with_demo(self, summary: dict[str, Any]) -> "Figures":
        """Add the demo run of a `demo-summary.json`. Raises KeyError if a number is missing."""
        return replace(self, demo=DemoRun(**{name: summary[name] for name in DemoRun.__dataclass_fields__}))

    def write(self, folder: Path) -> None:
        figures_path(folder).write_text(json.dumps(_rounded(asdict(self)), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Figures":
        raw = json.loads(figures_path(folder).read_text(encoding="utf-8"))
        phrasings = {asking: SampleShares(**values) for asking, values in raw["phrasings"].items()}
        demo = DemoRun(**raw["demo"]) if raw["demo"] else None
        return cls(**{**raw, "phrasings": phrasings, "demo": demo})


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value
