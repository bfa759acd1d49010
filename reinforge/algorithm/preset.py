"""The preset type."""

from dataclasses import dataclass, field
from typing import Any, Literal

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Settings for the parts of `reinforge.algorithm.slots.Algorithm`, with the information needed to choose them."""

    title: str
    summary: str
    """One paragraph: what it does, when to choose it, limits."""
    formula: str
    """Its distinctive formula in one line."""
    source: str
    """Paper and equation, or library and function."""
    confidence: Confidence = "high"
    """Confidence that the formula is the authors': `high`: read in their paper or code or in a maintained library;
    `medium`: combined from independent accounts; `low`: a short description completed by us."""
    deviations: tuple[str, ...] = ()
    """Differences from the source, and gaps filled."""
    learning: str = ""
    """Why it does not get from 50 % to 85 % of the demo's held-out additions within 80 steps
    (`benchmarks/learning.py`); empty if it does."""
    needs: tuple[str, ...] = ()
    """Requirements on a job: rewards with special values, tools, turns."""
    slots: dict[str, Any] = field(default_factory=dict)
    """Parts that differ from the defaults."""
    job: dict[str, Any] = field(default_factory=dict)
    """Required settings outside the parts; applied like the parts."""
    recipe: dict[str, Any] = field(default_factory=dict)
    """Published settings, applied on request. Leave the learning rate out, so that it stays `auto` for other models."""
    published_rate: float | None = None
    """Learning rate of the source; shown, never applied."""
    published_rate_trains: Literal["all weights", "an adapter"] = "all weights"
    """What the source trained with it."""
