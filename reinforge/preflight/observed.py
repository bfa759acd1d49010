"""Observations of a probe's steps, independent of their transport."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from reinforge.records import CheckpointSaved, Phase, Record, Rollouts, Started, StepMetrics


@dataclass(frozen=True, slots=True)
class Sampled:
    """One completion of the base model."""

    reward: float | None
    """None: the reward failed, or does not apply."""
    tokens: int
    truncated: bool
    error: str | None
    text: str
    """Its beginning."""


@dataclass(slots=True)
class Observed:
    groups: list[list[Sampled]] = field(default_factory=list)
    """By step and prompt; the completions of one prompt together."""
    steps: list[dict[str, float | None]] = field(default_factory=list)
    """Metrics of each step, by the names in `reinforge.metrics`."""
    facts: dict[str, object] = field(default_factory=dict)
    """Facts of the `started` record: device, parameters, memory once the model is loaded."""
    load_seconds: float = 0.0
    """From the start of the trainer to its first step."""
    save_seconds: float = 0.0
    """For one checkpoint."""
    reward_ms: list[float] = field(default_factory=list)
    """Time inside the rewards, per completion; empty where it is not known."""

    @property
    def completions(self) -> list[Sampled]:
        return [sampled for group in self.groups for sampled in group]


def observe(records: Iterable[Record], *, launched: float | None = None) -> Observed:
    """Read a probe's records; `launched`: when its process was started, Unix seconds."""
    observed, saving = Observed(), None
    for record in records:
        launched = record.ts if launched is None else launched
        match record:
            case Started():
                observed.facts = record.facts
                observed.load_seconds = record.ts - launched
            case Rollouts(split="train"):
                _add_groups(observed, record)
            case StepMetrics():
                observed.steps.append(record.values)
            case Phase(phase="saving"):
                saving = record.ts
            case CheckpointSaved() if saving is not None:
                observed.save_seconds = record.ts - saving
            case _:
                pass
    return observed


def _add_groups(observed: Observed, record: Rollouts) -> None:
    groups: dict[int, list[Sampled]] = {}
    for row in record.rows:
        groups.setdefault(row.prompt_no, []).append(
            Sampled(row.reward, row.length, row.finish_reason == "length", row.error, row.text)
        )
    observed.groups += groups.values()
