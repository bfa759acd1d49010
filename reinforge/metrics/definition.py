"""Types of metrics, families of metrics and charts."""

from typing import Any, Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

Better = Literal["higher", "lower", "neither"]
Section = Literal[
    "Headline",
    "Signal",
    "Tools",
    "Training slices",
    "Policy",
    "Critic",
    "Speed and memory",
    "Optimizer",
    "Held-out rows",
    "Other",
]


def _require_all(schema: dict[str, Any]) -> None:
    """Mark all fields as required, since the server also sends those with defaults."""
    schema["required"] = list(schema["properties"])


_CONFIG = ConfigDict(use_attribute_docstrings=True, extra="forbid", json_schema_extra=_require_all)


@dataclass(frozen=True, config=_CONFIG)
class Metric:
    key: str
    unit: str
    title: str
    meaning: str
    reading: str = ""
    """How to judge the metric's values."""
    better: Better = "neither"
    when: str = ""
    """Setting that the metric depends on; empty: none."""


@dataclass(frozen=True, config=_CONFIG)
class MetricFamily:
    """Metrics whose keys contain a name of the job: a reward, a part, a slice, k of pass@k.

    `{1}` in title, meaning, chart and label is the pattern's first group.
    """

    pattern: str
    """Regular expression of the whole key, for Python and JavaScript. The first match counts."""
    unit: str
    title: str
    meaning: str
    reading: str = ""
    better: Better = "neither"
    chart: str = ""
    """Id of its chart; empty: none."""
    label: str = ""


@dataclass(frozen=True, config=_CONFIG)
class ChartLine:
    key: str
    label: str
    always: bool = True
    """Whether the legend has the line before it is measured."""


@dataclass(frozen=True, config=_CONFIG)
class ChartBand:
    label: str
    low: str
    high: str


@dataclass(frozen=True, config=_CONFIG)
class ChartScale:
    format: Literal["number", "reward", "percent"] = "number"
    start: float | None = 0.0
    """Lower end, unless a value is lower; null: the lowest value."""
    end: float | None = None
    """Upper end, unless a value is higher; null: the highest value."""


@dataclass(frozen=True, config=_CONFIG)
class Negligible:
    below: float
    sentence: str
    """Describes the chart while all absolute values are below the limit."""


@dataclass(frozen=True, config=_CONFIG)
class MetricChart:
    """A chart. With `{1}` in its id: a template that metric families fill in."""

    id: str
    """Fixed, because links contain it."""
    section: Section
    title: str
    unit: str
    about: str
    """Key of the metric that explains the chart; empty for families."""
    lines: tuple[ChartLine, ...] = ()
    """Fixed lines; metrics of families are added."""
    band: ChartBand | None = None
    scale: ChartScale = ChartScale()
    negligible: Negligible | None = None
    always: bool = True
    """Whether the chart is shown before anything is measured."""
    minimum_lines: int = 1
    """The chart is hidden with fewer measured lines, because another chart shows them."""
