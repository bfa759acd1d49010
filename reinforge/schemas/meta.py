"""Version and definitions of the server."""

from typing import Any, Literal

from reinforge.metrics import Metric, MetricChart, MetricFamily
from reinforge.schemas.common import Response


class Meta(Response):
    """Fixed while the server runs."""

    object: Literal["meta"] = "meta"
    version: str
    metrics: list[Metric]
    metric_families: list[MetricFamily]
    charts: list[MetricChart]
    """Charts of a job in order. Other metrics have their own chart."""
    presets: dict[str, dict[str, Any]]
    job_spec: dict[str, Any]
