"""Observations of a probe job: completions, step metrics and times."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from reinforge.records import CheckpointSaved, Phase, Record, Rollouts, Started, StepMetrics


@dataclass(frozen=True, slots=True)
class ObservedCompletion:
    reward: float | None
    tokens: int
    truncated: bool
    error: str | None
    text: str


@dataclass(slots=True)
class Observed:
    groups: list[list[ObservedCompletion]] = field(default_factory=list)
    steps: list[dict[str, float | None]] = field(default_factory=list)
    facts: dict[str, object] = field(default_factory=dict)
    load_seconds: float = 0.0
    save_seconds: float = 0.0
    reward_ms: list[float] = field(default_factory=list)

    @property
    def completions(self) -> list[ObservedCompletion]:
        return [sampled for group in self.groups for sampled in group]


def observe(records: Iterable[Record], *, launched: float | None = None) -> Observed:
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
    groups: dict[int, list[ObservedCompletion]] = {}
    for row in record.rows:
        groups.setdefault(row.prompt_no, []).append(
            ObservedCompletion(row.reward, row.length, row.finish_reason == "length", row.error, row.text)
        )
    observed.groups += groups.values()
