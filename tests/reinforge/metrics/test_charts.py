"""Charts, families and the metric table fit together."""

import re
from collections import Counter

import pytest

from reinforge.metrics import CHARTS, FAMILIES, METRICS, describe
from reinforge.metrics.charts import COUNTERS


def test_every_metric_but_counters_is_in_one_chart() -> None:
    charted = Counter(line.key for chart in CHARTS for line in chart.lines)
    bands = {key for chart in CHARTS if chart.band for key in (chart.band.low, chart.band.high)}
    explained = {chart.about for chart in CHARTS} - {""}
    assert set(charted.values()) == {1}
    assert charted.keys() | bands | explained == METRICS.keys() - COUNTERS


def test_charts_have_ids_of_their_own() -> None:
    ids = [chart.id for chart in CHARTS]
    assert len(ids) == len(set(ids))
    # They are part of links.
    assert {"reward", "entropy", "length", "kl", "gap", "step-time", "pass-at-k"} <= set(ids)


def test_each_family_has_its_chart() -> None:
    templates = {chart.id for chart in CHARTS if not chart.about}
    assert {family.chart for family in FAMILIES} - {""} == templates


def test_patterns_mean_the_same_in_python_and_javascript() -> None:
    """Only groups, dots, digits and plain characters."""
    for family in FAMILIES:
        assert re.fullmatch(r"(?:[\w/@]|\(\.\+\??\)|\(\\d\+\))+", family.pattern), family.pattern


@pytest.mark.parametrize(
    ("key", "title", "unit"),
    [
        ("held_out/pass@4", "pass@4", "share"),
        ("held_out/best@16/low", "best@16, lower end", "reward"),
        ("reward/tone/label/rude", "tone: rude", "share"),
        ("held_out/tone/label/rude", "Held-out tone: rude", "share"),
        ("reward/right/part/digits", "Reward right/part/digits", "reward"),
        ("reward/right/part/digits/spared", "Spared right/part/digits", "share"),
        ("held_out/right/part/p/label/a{b}", "Held-out right/part/p: a{b}", "share"),
        ("held_out/slice/very easy/length_mean", "Mean tokens per completion, very easy", "tokens"),
        ("strange/thing", "strange/thing", ""),
    ],
)
def test_keys_with_names_are_described(key: str, title: str, unit: str) -> None:
    metric = describe(key)
    assert (metric.key, metric.title, metric.unit) == (key, title, unit)
