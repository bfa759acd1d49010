"""`Algorithm`: the four slots together. A variant is a way to fill them; rules between them are in `rules`."""

from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from reinforge.algorithm.advantage import Advantage, GrpoAdvantage
from reinforge.algorithm.base import SpecModel, fault_at
from reinforge.algorithm.loss import Loss
from reinforge.algorithm.selection import KeepAll, Selection
from reinforge.algorithm.shaping import Shaping, WeightedSum, default_cache
from reinforge.presets import PRESETS


class Reference(SpecModel):
    """What a KL penalty measures the distance from: the base model, or the policy of an earlier step."""

    refresh_every: int = Field(default=0, ge=0, le=1_000_000)
    """Steps after which the reference becomes the policy; 0 keeps the base model (iterative GRPO: each iteration)."""
    mixup: float = Field(default=1.0, gt=0, le=1)
    """Share of the policy in the new reference, the rest is the old one, each adapter matrix by itself; 1 for a copy,
    at which the KL falls to 0. TRL: 0.6."""

    @model_validator(mode="after")
    def mixup_is_used(self) -> Self:
        if self.refresh_every == 0 and self.mixup != 1:
            raise fault_at(
                "algorithm.reference.mixup",
                "`mixup` is not used while `refresh_every` is 0: set `refresh_every`, or leave it out",
            )
        return self


class Algorithm(SpecModel):
    preset: str | None = "grpo"
    """Where the slots came from; a label only, the slots decide."""
    shaping: Shaping = WeightedSum()
    """Slot 1: from the rewards of a completion to one number."""
    selection: Selection = KeepAll()
    """Slot 2: which groups and completions are trained on."""
    advantage: Advantage = GrpoAdvantage()
    """Slot 3: how much better a completion is than the others of its group."""
    loss: Loss = Loss()
    """Slot 4: what is minimised."""
    updates_per_step: int = Field(default=1, ge=1, le=64)
    """Optimizer updates per step: the groups are split into this many mini-batches."""
    reference: Reference = Reference()
    """The policy that a KL penalty holds on to."""

    @field_validator("preset")
    @classmethod
    def known_preset(cls, name: str | None) -> str | None:
        if name is not None and name not in PRESETS:
            raise ValueError(f"unknown preset {name!r}; known: {', '.join(sorted(PRESETS))}")
        return name


def fill_lengths(algorithm: dict[str, Any], max_completion_tokens: int) -> None:
    """Put the longest completion wherever a dumped `Algorithm` leaves a number of tokens to it, in place."""
    aggregation = algorithm["loss"]["aggregation"]
    if aggregation["type"] == "constant" and aggregation["length"] is None:
        aggregation["length"] = max_completion_tokens
    for term in (algorithm["shaping"].get(name) for name in ("soft_overlong", "cosine_length")):
        if term and term["weight"] > 0 and term["limit"] is None:
            term["limit"] = max_completion_tokens
        if term and term["weight"] > 0 and term.get("cache", 0) is None:
            term["cache"] = default_cache(term["limit"])
