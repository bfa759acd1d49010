"""`Preset`: named settings of an algorithm."""

from dataclasses import dataclass, field
from typing import Any, Literal

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Settings for parts of `reinforge.algorithm.slots.Algorithm`."""

    title: str
    summary: str
    """What the preset does, when to choose it, and its limits."""
    formula: str
    """Distinctive formula in one line."""
    source: str
    """Paper and equation, or library and function."""
    confidence: Confidence = "high"
    """`high`: the formula is from the authors' paper or code or a maintained library; `medium`: it
    combines independent accounts; `low`: we filled gaps in a short description.
    """
    deviations: tuple[str, ...] = ()
    learning: str = ""
    """Why the preset solves less than 85 % of the demo's held-out additions after 80 steps
    (`benchmarks/learning.py`); empty otherwise.
    """
    needs: tuple[str, ...] = ()
    """Requirements on a job: rewards with special values, tools, turns."""
    slots: dict[str, Any] = field(default_factory=dict)
    job: dict[str, Any] = field(default_factory=dict)
    """Required settings outside the algorithm, applied like `slots`."""
    recipe: dict[str, Any] = field(default_factory=dict)
    """Published settings, applied on request; without the learning rate, which stays `auto`."""
    published_rate: float | None = None
    """The source's learning rate; shown, never applied."""
    published_rate_trains: Literal["all weights", "an adapter"] = "all weights"
