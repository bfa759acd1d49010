"""Charts of a job in page order."""

import re
from collections.abc import Iterator

from reinforge.metrics.definition import (
    ChartBand,
    ChartLine,
    ChartScale,
    Metric,
    MetricChart,
    Negligible,
    Section,
)
from reinforge.metrics.table import METRICS

COUNTERS = frozenset({"optimizer/updates", "tokens/trained"})
"""Metrics without a chart."""
SHARE = ChartScale("percent", end=1.0)
RARE = ChartScale("percent", end=0.1)
REWARD = ChartScale("reward", end=1.0)
FITTED = ChartScale(start=None)


def _chart(
    id: str,
    section: Section,
    lines: dict[str, str],
    *,
    about: str = "",
    title: str = "",
    unit: str = "",
    band: ChartBand | None = None,
    scale: ChartScale | None = None,
    negligible: Negligible | None = None,
    always: bool = False,
) -> MetricChart:
    """A chart; title, unit and scale default to its first metric's.

    Metrics that depend on a setting appear once measured; `always` overrides this.
    """
    main = METRICS[about or next(iter(lines))]
    drawn = tuple(ChartLine(key, label, not METRICS[key].when) for key, label in lines.items())
    return MetricChart(
        id,
        section,
        title or main.title,
        unit or main.unit,
        main.key,
        drawn,
        band,
        scale or (SHARE if main.unit == "share" else ChartScale()),
        negligible,
        always or any(line.always for line in drawn),
    )


def _template(
    id: str, section: Section, title: str, unit: str, scale: ChartScale, minimum_lines: int = 1
) -> MetricChart:
    return MetricChart(
        id, section, title, unit, about="", scale=scale, always=False, minimum_lines=minimum_lines
    )


_HEADLINE = [
    _chart(
        "reward",
        "Headline",
        {
            "reward/mean": "train mean",
            "held_out/reward_mean": "held-out",
            "reward/shaped_mean": "with shaping",
        },
        unit="per step",
        band=ChartBand("p10–p90", "reward/p10", "reward/p90"),
        scale=REWARD,
    ),
    _chart(
        "entropy",
        "Headline",
        {"entropy/mean": "mean"},
        unit="nat per token",
        band=ChartBand("p10–p90", "entropy/p10", "entropy/p90"),
    ),
    _chart(
        "length",
        "Headline",
        {
            "completions/length_mean": "mean",
            "completions/length_p90": "p90",
            "completions/length_p95": "p95",
        },
    ),
]
_SIGNAL = [
    _chart(
        "dead-groups",
        "Signal",
        {"groups/all_right_share": "equal > 0", "groups/all_wrong_share": "equal ≤ 0"},
        about="groups/zero_variance_share",
    ),
    _chart("truncated", "Signal", {"completions/truncated_share": "share"}, scale=RARE),
    _chart("reward-errors", "Signal", {"reward/error_share": "share"}, scale=RARE),
    _chart("reward-spread", "Signal", {"reward/std": "std"}, unit="deviation"),
    _chart(
        "reward-length-correlation",
        "Signal",
        {
            "reward/length_correlation": "length",
            "reward/repetition_correlation": "repetition",
            "reward/digit_correlation": "digits",
            "reward/markup_correlation": "markup",
            "reward/answer_correlation": "right answer",
        },
        title="Reward follows",
        unit="correlation within groups",
        scale=ChartScale(start=-1.0, end=1.0),
    ),
    _chart(
        "text-shares",
        "Signal",
        {
            "completions/duplicate_share": "duplicates",
            "completions/repeated_share": "repetition",
            "completions/digit_share": "digits",
            "completions/markup_share": "markup",
            "completions/off_language_share": "other scripts",
            "completions/answer_share": "right answers",
        },
        title="What completions are made of",
        scale=SHARE,
    ),
    _chart(
        "length-right-wrong",
        "Signal",
        {"completions/length_right_mean": "passing", "completions/length_wrong_mean": "others"},
        title="Length by outcome",
    ),
    _template("rewards", "Signal", "Rewards", "mean", FITTED, minimum_lines=2),
    _template("reward-spreads", "Signal", "Spread of each reward", "standard deviation", ChartScale()),
    _template("errors-of-rewards", "Signal", "Errors of each reward", "share", RARE),
    _template("advantage-correlations", "Signal", "Rewards and advantage", "correlation", FITTED),
    _template("others-correlations", "Signal", "Each reward and the others", "correlation", FITTED),
    _template("parts-{1}", "Signal", "Parts of “{1}”", "mean", FITTED),
]
_POLICY = [
    _chart("kl", "Policy", {"kl/mean": "mean"}, unit="nat per token", always=True),
    _chart(
        "clipped",
        "Policy",
        {"policy/clip_high_share": "high", "policy/clip_low_share": "low"},
        title="Clipped tokens",
        scale=RARE,
    ),
    _chart(
        "gap",
        "Policy",
        {"sampler/gap_mean": "mean", "sampler/gap_max": "largest", "sampler/kl": "KL"},
        negligible=Negligible(1e-3, "Negligible, below 0.001."),
    ),
    _chart("ratio", "Policy", {"policy/ratio_mean": "mean"}, scale=FITTED),
    _chart(
        "old-kl",
        "Policy",
        {"policy/old_kl": "KL", "policy/log_ratio_max": "largest log-ratio"},
        title="Distance within a step",
        negligible=Negligible(1e-9, "0 with one update per step."),
    ),
]
_TOOLS = [
    _chart(
        "tool-calls", "Tools", {"tools/calls_per_rollout": "all"}, title="Calls per rollout", unit="calls"
    ),
    _chart("turns", "Tools", {"rollout/turns_mean": "mean", "rollout/turns_max": "most"}),
    _template("finishes", "Tools", "How rollouts end", "share", SHARE),
    _template("failed-rollouts", "Tools", "Failed rollouts", "share", SHARE),
    _chart(
        "tool-errors",
        "Tools",
        {"tools/invalid_share": "cannot run", "tools/failure_share": "failed"},
        title="Calls without a result",
        unit="share of calls",
        scale=SHARE,
    ),
    _chart(
        "tool-use",
        "Tools",
        {
            "tools/use_share": "rollouts with a call",
            "tools/all_wrong_share": "prompts wrong in spite of calls",
        },
        title="Use of tools",
        scale=SHARE,
    ),
    _template("calls-of-tools", "Tools", "Calls by tool", "calls per rollout", ChartScale()),
    _template("failures-of-tools", "Tools", "Failed calls by tool", "share of its calls", SHARE),
    _template("times-of-tools", "Tools", "Time by tool", "s, 95th percentile", ChartScale()),
    _chart("policy-tokens", "Tools", {"tokens/policy_share": "policy"}, scale=SHARE),
]
_CRITIC = [
    _chart(
        "critic-values",
        "Critic",
        {"critic/value_mean": "value", "critic/return_mean": "return"},
        title="Critic value and return",
        unit="reward per token",
        scale=FITTED,
    ),
    _chart(
        "critic-explained",
        "Critic",
        {"critic/explained_variance": "share"},
        title="Explained variance",
        unit="1 is right, 0 is no better than the mean",
        scale=ChartScale(start=None, end=1.0),
    ),
    _chart("critic-loss", "Critic", {"critic/loss": "loss"}, unit="half the squared error"),
]
_SPEED = [
    _chart(
        "throughput",
        "Speed and memory",
        {"throughput/completions_per_second": "trained"},
        unit="completions/s",
    ),
    _chart("token-throughput", "Speed and memory", {"throughput/tokens_per_second": "completion tokens"}),
    _chart(
        "step-time",
        "Speed and memory",
        {"time/step": "all", "time/generate": "generate", "time/score": "score", "time/update": "update"},
    ),
    _chart(
        "memory",
        "Speed and memory",
        {"memory/peak": "peak", "memory/state": "weights and optimizer"},
        unit="GiB, peak",
    ),
]
_OPTIMIZER = [
    _chart(
        "loss",
        "Optimizer",
        {"loss/policy": "loss"},
        unit="near 0 is normal",
        scale=FITTED,
        negligible=Negligible(1e-3, "Within 0.001 of 0, as expected."),
    ),
    _chart("gradient-norm", "Optimizer", {"optimizer/grad_norm": "norm"}, unit="before clipping"),
    _chart("learning-rate", "Optimizer", {"optimizer/learning_rate": "rate"}, unit="per update"),
    _chart("skipped", "Optimizer", {"optimizer/skipped_updates": "skipped"}, unit="since the start"),
]


def _slices(id_prefix: str, section: Section, title: str) -> list[MetricChart]:
    return [
        _template(f"{id_prefix}slices-{name.replace(' ', '-')}", section, f"{title}: {name}", unit, scale)
        for name, unit, scale in (
            ("kl mean", "nat", FITTED),
            ("length mean", "tokens", FITTED),
            ("pass share", "share", SHARE),
            ("reward mean", "reward", REWARD),
        )
    ]


_HELD_OUT = [
    _template("held-out-rewards", "Held-out rows", "Held-out: rewards", "mean", FITTED, minimum_lines=2),
    _template("held-out-parts-{1}", "Held-out rows", "Held-out: parts of “{1}”", "mean", FITTED),
    _template("pass-at-k", "Held-out rows", "Pass@k", "share", SHARE),
    _template("best-at-k", "Held-out rows", "Best@k", "reward", ChartScale()),
    _template("maj-at-k", "Held-out rows", "Majority@k", "share", SHARE),
    *_slices("held-out-", "Held-out rows", "Held-out slices"),
]
_TRAINING_SLICES = _slices("", "Training slices", "Slices")
_LABELS = [
    _template("reward-{1}-label-{2}", "Other", "{1}: {2}", "share", RARE),
    _template("held-out-{1}-label-{2}", "Held-out rows", "Held-out {1}: {2}", "share", RARE),
]
_SHARED = [
    *_HEADLINE,
    *_SIGNAL,
    *_TOOLS,
    *_TRAINING_SLICES,
    *_POLICY,
    *_CRITIC,
    *_SPEED,
    *_OPTIMIZER,
    *_HELD_OUT,
]


def _rest() -> Iterator[MetricChart]:
    charted = {key for chart in _SHARED for key in (chart.about, *(line.key for line in chart.lines))}
    charted |= {key for chart in _SHARED if (band := chart.band) for key in (band.low, band.high)}
    for key in sorted(METRICS.keys() - charted - COUNTERS):
        yield _single(METRICS[key])


def _single(metric: Metric) -> MetricChart:
    held_out = metric.key.startswith("held_out/")
    return MetricChart(
        re.sub("[^a-z0-9]+", "-", metric.key.lower()),
        "Held-out rows" if held_out else "Other",
        metric.title,
        metric.unit,
        metric.key,
        (ChartLine(metric.key, "held-out" if held_out else "per step"),),
        scale=RARE if metric.unit == "share" else FITTED,
        always=False,
    )


CHARTS: tuple[MetricChart, ...] = (*_SHARED, *_rest(), *_LABELS)
