"""Runs of the benchmark of learning: every preset on the demo's additions, with four updates per step until 0.9."""

from collections.abc import Callable
from typing import Any

from common.folder import Folder
from common.learned import ACCURACY
from common.preset_jobs import job
from common.runs import StopRule

from claims.evidence import by_group
from claims.fixtures import ROOT
from claims.ledger import Arm

LEARNING = ROOT / "benchmarks" / "results" / "learning"
"""Where `benchmarks/learning.py` keeps its rows and its runs."""
STOP = StopRule(at_least=0.9, in_a_row=2, metric=ACCURACY)
RECIPE = "Additions as `learning.py` runs them: 16 × 8, four updates per step, AdamW at 2e-4, until 0.9 or 80 steps. "


def learned(preset: str, read: Callable[[Folder], dict[str, Any]] | None = None) -> Arm:
    spec = job(preset, LEARNING / "data" / "additions.jsonl")
    return Arm(f"learning/{preset}", spec, read, stop=STOP, preset=preset)


GRPO = learned("grpo", by_group)
