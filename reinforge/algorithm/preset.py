"""What a preset is."""

from dataclasses import dataclass, field
from typing import Any, Literal

Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A way to fill the slots of `reinforge.algorithm.slots.Algorithm`, and what a person needs to choose it."""

    title: str
    summary: str
    """A paragraph: what it does, when to choose it, what to know."""
    formula: str
    """What is special about it, in one line."""
    source: str
    """Paper and equation, or library and function."""
    confidence: Confidence = "high"
    """That the formula is the authors': `high` read in their paper or code or in a maintained library, `medium` put
    together from independent accounts, `low` a short description filled in by us."""
    deviations: tuple[str, ...] = ()
    """Where this differs from the source, or fills a gap in it."""
    learning: str = ""
    """Why it does not get from half of the demo's held-out additions right to 85 % within 80 steps
    (`benchmarks/learning.py`); empty where it does."""
    needs: tuple[str, ...] = ()
    """What a job must bring: a reward that returns something special, tools, turns."""
    slots: dict[str, Any] = field(default_factory=dict)
    """Those that differ from the defaults."""
    job: dict[str, Any] = field(default_factory=dict)
    """Parts of the job outside the slots without which it is not this variant; filled like the slots."""
    recipe: dict[str, Any] = field(default_factory=dict)
    """Parts of a job as published; not filled in unless asked for. A learning rate in it is used as it is, whatever the
    model: leave it out, so that it stays `auto`."""
    published_rate: float | None = None
    """The learning rate of the source. It is shown and never filled in."""
    published_rate_trains: Literal["all weights", "an adapter"] = "all weights"
    """What the source trained with it."""
