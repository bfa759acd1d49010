"""What a metric is, and those of judges; `reinforge.metrics` has the table of all."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    key: str
    unit: str
    title: str
    meaning: str
    reading: str = ""
    better: Literal["higher", "lower", "neither"] = "neither"
    when: str = ""
    """Which setting has to be on for it to be measured; empty for always."""


_JUDGED = "a reward asks a judge"

JUDGES = [
    Metric("judge/calls", "count", "Judge calls", "Questions to judges since the last step.", when=_JUDGED),
    Metric(
        "judge/cached_share",
        "share",
        "Judge answers from the cache",
        "Questions that had been answered before, and cost nothing.",
        when=_JUDGED,
    ),
    Metric("judge/input_tokens", "tokens", "Judge input", "Tokens that judges read.", when=_JUDGED),
    Metric("judge/output_tokens", "tokens", "Judge output", "Tokens that judges wrote.", when=_JUDGED),
    Metric(
        "judge/failed",
        "count",
        "Judge failures",
        "Questions without a usable answer.",
        "The completions' messages say why.",
        "lower",
        when=_JUDGED,
    ),
    Metric(
        "judge/retries",
        "count",
        "Judge retries",
        "Further tries after 429, 5xx or a time-out.",
        "",
        "lower",
        when=_JUDGED,
    ),
    Metric(
        "judge/spared",
        "count",
        "Judge calls spared",
        "Questions that a gate made unnecessary.",
        when=_JUDGED,
    ),
    Metric(
        "judge/cost",
        "cost",
        "Judge cost",
        "What judges have cost since the start, by their prices.",
        "limits.judge_budget pauses the job.",
        "lower",
        when=_JUDGED,
    ),
    Metric(
        "judge/saved_cost",
        "cost",
        "Judge cost saved",
        "What gates have spared since the start, at the mean cost of a call.",
        when=_JUDGED,
    ),
]
