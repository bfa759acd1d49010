"""Metrics named after rewards, parts, labels, k of pass@k, and slices."""

import re
from collections.abc import Iterator
from dataclasses import replace

from reinforge.metrics.definition import Metric, MetricFamily
from reinforge.metrics.turns import TURN_FAMILIES

_AT_K = {
    "pass": ("share", "Probability that at least one of {1} completions of a held-out row passes."),
    "best": ("reward", "Expected best reward of {1} completions of a held-out row."),
    "maj": (
        "share",
        "Probability that the most frequent answer of {1} completions of a held-out row passes.",
    ),
}
_SLICES = {
    "reward_mean": ("reward", "Mean combined reward"),
    "pass_share": ("share", "Completions that pass"),
    "length_mean": ("tokens", "Mean tokens per completion"),
    "kl_mean": ("nat", "Mean over completions of the k3 estimate per token between policy and reference"),
}

_SPREADS = (
    MetricFamily(
        "reward/(.+)/std",
        "reward",
        "Spread of reward {1}",
        "Standard deviation of {1} over the step's completions, in jobs with several rewards.",
        "",
        "neither",
        "reward-spreads",
        "{1}",
    ),
    MetricFamily(
        "reward/(.+)/group_std",
        "reward",
        "Spread of reward {1} within groups",
        "Standard deviation of {1} among completions of a prompt, mean over prompts, in jobs with several rewards.",
        "At 0 the reward teaches nothing.",
        "neither",
        "reward-spreads",
        "{1}, within groups",
    ),
    MetricFamily(
        "reward/(.+)/error_share",
        "share",
        "Errors of reward {1}",
        "Completions for which {1} failed, in jobs with several rewards.",
        "Above a few percent: read the messages beside the completions.",
        "lower",
        "errors-of-rewards",
        "{1}",
    ),
)
_CORRELATIONS = (
    ("advantage", "advantage", "the advantage"),
    ("others", "the other rewards", "the weighted sum of the other rewards"),
)


def _at_k() -> Iterator[MetricFamily]:
    for kind, (unit, meaning) in _AT_K.items():
        value = MetricFamily(
            rf"held_out/{kind}@(\d+)",
            unit,
            f"{kind}@{{1}}",
            meaning,
            "Estimated from all samples of a row.",
            "higher",
            f"{kind}-at-k",
            "k = {1}",
        )
        yield value
        for end, words in (("low", "lower end"), ("high", "upper end")):
            yield replace(
                value,
                pattern=f"{value.pattern}/{end}",
                title=f"{value.title}, {words}",
                reading="End of the 95 % bootstrap interval over rows.",
                chart="",
                label="",
            )


def _slices() -> Iterator[MetricFamily]:
    for prefix, rows, chart in (
        ("held_out/", "held-out rows", "held-out-slices"),
        ("", "the step's rows", "slices"),
    ):
        for name, (unit, meaning) in _SLICES.items():
            yield MetricFamily(
                f"{prefix}slice/(.+)/{name}",
                unit,
                f"{meaning}, {{1}}",
                f"{meaning} on {rows} of slice {{1}}.",
                chart=f"{chart}-{name.replace('_', '-')}",
                label="{1}",
            )


def _rewards(prefix: str, rows: str, title: str, chart: str, own: str) -> Iterator[MetricFamily]:
    """Families of rewards. title: beginning of titles. chart: beginning of shared charts' ids."""
    parts, mean = f"{chart}parts-{{1}}", f"Mean over {rows} completions where it applies."
    labelled = f"Share of {rows} labelled completions that {{0}} calls {{1}}."
    yield MetricFamily(
        f"{prefix}/(.+?)/part/(.+)/label/(.+)",
        "share",
        f"{title}{{1}}/part/{{2}}: {{3}}",
        labelled.format("{1}/part/{2}", "{3}"),
        chart=parts,
        label="{2}/label/{3}",
    )
    yield MetricFamily(
        f"{prefix}/(.+?)/label/(.+)",
        "share",
        f"{title}{{1}}: {{2}}",
        labelled.format("{1}", "{2}"),
        chart=f"{own}-{{1}}-label-{{2}}",
        label="held-out" if prefix == "held_out" else "per step",
    )
    yield MetricFamily(
        f"{prefix}/(.+?)/part/(.+)/spared",
        "share",
        f"{title}spared {{1}}/part/{{2}}" if title else "Spared {1}/part/{2}",
        f"Share of {rows} completions that a gate kept away from this part.",
        chart=parts,
        label="{2}/spared",
    )
    reward_title = f"{title}reward" if title else "Reward"
    yield MetricFamily(
        f"{prefix}/(.+?)/part/(.+)",
        "reward",
        f"{reward_title} {{1}}/part/{{2}}",
        mean,
        "",
        "higher",
        parts,
        "{2}",
    )
    if prefix == "reward":
        yield from _SPREADS
        for key, title_end, meaning in _CORRELATIONS:
            yield MetricFamily(
                f"{prefix}/(.+)/{key}_correlation",
                "correlation",
                f"Reward {{1}} and {title_end}",
                f"Correlation of {{1}} with {meaning} within groups, over the step's completions.",
                chart=f"{key}-correlations",
                label="{1}",
            )
    yield MetricFamily(
        f"{prefix}/(.+)/mean",
        "reward",
        f"{reward_title} {{1}}/mean",
        mean,
        "",
        "higher",
        f"{chart}rewards",
        "{1}",
    )


_MAX_CHARACTERS = 500
"""Limit on keys: patterns take quadratic time, and rewards choose names of parts."""
FAMILIES: tuple[MetricFamily, ...] = (
    *_at_k(),
    *_slices(),
    *_rewards("reward", "the step's", "", "", "reward"),
    *TURN_FAMILIES,
    *_rewards("held_out", "held-out", "Held-out ", "held-out-", "held-out"),
)
# pattern: the constants above, for keys of at most _MAX_CHARACTERS
_PATTERNS = [(re.compile(family.pattern), family) for family in FAMILIES]


def family_of(key: str) -> tuple[MetricFamily, tuple[str, ...]] | None:
    """The family of a key, with the texts for `{0}`, `{1}` …"""
    if len(key) > _MAX_CHARACTERS:
        return None
    for pattern, family in _PATTERNS:
        if match := pattern.fullmatch(key):
            return family, (match.group(0), *match.groups())
    return None


def of_family(key: str) -> Metric | None:
    if (member := family_of(key)) is None:
        return None
    family, groups = member
    title, meaning = family.title.format(*groups), family.meaning.format(*groups)
    return Metric(key, family.unit, title, meaning, family.reading, family.better)
