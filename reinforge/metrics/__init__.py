"""Metrics of jobs and evaluations: meaning, unit, families, charts; for page, docs and trainer."""

from reinforge.metrics.charts import CHARTS
from reinforge.metrics.definition import Metric, MetricChart, MetricFamily
from reinforge.metrics.families import FAMILIES, family_of, of_family
from reinforge.metrics.table import METRICS

__all__ = ["CHARTS", "FAMILIES", "METRICS", "Metric", "MetricChart", "MetricFamily", "describe", "family_of"]


def describe(key: str) -> Metric:
    """The metric of a key; for unknown keys, such as those of plug-ins, one with only a title."""
    return METRICS.get(key) or of_family(key) or Metric(key, "", key, "")
