"""What a metric is, those of judges, and those that stand beside the reward; `reinforge.metrics` has the table."""

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
_DECLARED = "data.columns.answer"

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

LENGTH = Metric(
    "reward/length_correlation",
    "correlation",
    "Reward and length",
    "Correlation of reward with completion length within groups.",
    "Above 0.7 the reward may pay for length: read some completions.",
)

ANSWERS = [
    Metric(
        "held_out/answer_share",
        "share",
        "Held-out right answers",
        "Held-out completions whose final answer is that of `data.columns.answer`: a number, or a short text.",
        "A witness beside the reward: where the reward rises and this falls, the reward pays for something else.",
        "higher",
        when=_DECLARED,
    ),
    Metric(
        "held_out/answer_std_error",
        "share",
        "Held-out right answers, standard error",
        "Over rows.",
        when=_DECLARED,
    ),
]
