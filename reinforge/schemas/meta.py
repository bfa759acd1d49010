"""The server's version, metrics, charts, presets and schemas."""

from typing import Any, Literal

from reinforge.metrics import Metric, MetricChart, MetricFamily
from reinforge.schemas.common import Response


class Meta(Response):
    """Version and definitions of the server, fixed while it runs."""

    object: Literal["meta"] = "meta"
    version: str
    metrics: list[Metric]
    metric_families: list[MetricFamily]
    charts: list[MetricChart]
    """Charts of a job, in page order. A metric that is in no chart gets one of its own."""
    presets: dict[str, dict[str, Any]]
    job_spec: dict[str, Any]
