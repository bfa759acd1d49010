"""Metrics of jobs and evaluations: meaning, unit, families and charts. Page, docs and trainer use these tables."""

from reinforge.metrics.charts import CHARTS
from reinforge.metrics.definition import Metric, MetricChart, MetricFamily
from reinforge.metrics.families import FAMILIES, of_family
from reinforge.metrics.table import METRICS

__all__ = ["CHARTS", "FAMILIES", "METRICS", "Metric", "MetricChart", "MetricFamily", "describe"]


def describe(key: str) -> Metric:
    """The metric behind a key; one that only has a title if the key is unknown, as of a plug-in."""
    return METRICS.get(key) or of_family(key) or Metric(key, "", key, "")
