"""`Algorithm`: the settings of all parts together."""

from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from reinforge.algorithm import plugins
from reinforge.algorithm.advantage import Advantage, GrpoAdvantage
from reinforge.algorithm.base import SpecModel, fault_at
from reinforge.algorithm.critic import Critic, NoCritic
from reinforge.algorithm.loss import ImportanceWeights, Loss
from reinforge.algorithm.selection import KeepAll, Selection
from reinforge.algorithm.shaping import Shaping, WeightedSum, default_cache
from reinforge.parsing.suggestions import did_you_mean
from reinforge.presets import PRESETS, withdraw

if TYPE_CHECKING:
    AnyShaping = Shaping
    AnySelection = Selection
    AnyAdvantage = Advantage
else:
    AnyShaping = plugins.union("shaping")
    AnySelection = plugins.union("selection")
    AnyAdvantage = plugins.union("advantage")

_LISTED = "`reinforge presets list` shows all."


class Reference(SpecModel):
    """Reference of a KL penalty: the base model, or the policy of an earlier step."""

    refresh_every: int = Field(default=0, ge=0, le=1_000_000)
    """Steps after which the policy replaces the reference; 0 keeps the base model (iterative GRPO: every
    iteration).
    """
    mixup: float = Field(default=1.0, gt=0, le=1)
    """Share of the policy in the new reference, per adapter matrix; the rest is the old reference. 1
    copies the policy: the KL falls to 0. TRL: 0.6.
    """

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
    """Name of the preset that the settings come from; only a label."""
    shaping: AnyShaping = WeightedSum()
    """How a completion's rewards become one number."""
    selection: AnySelection = KeepAll()
    """Groups and completions to train on."""
    advantage: AnyAdvantage = GrpoAdvantage()
    """How much better a completion is than others of its group."""
    loss: Loss = Loss()
    """What is minimised."""
    critic: Critic = NoCritic()
    """Second model that predicts the reward; only advantage `gae` reads it."""
    updates_per_step: int = Field(default=1, ge=1, le=64)
    """Optimizer updates per step: groups are split into this many mini-batches."""
    reference: Reference = Reference()
    """Reference of the KL penalty."""

    packages: dict[str, str] = Field(default_factory=dict, max_length=16)
    """Packages that define the preset and parts, with versions. Filled in when the job is created;
    machines with other versions refuse the job.
    """

    @model_validator(mode="before")
    @classmethod
    def packages_can_be_used(cls, value: Any) -> Any:
        """Reports why a package's part is unusable, before validation calls its type unknown."""
        if isinstance(value, dict):
            _refuse_unusable(value)
        return value

    @field_validator("preset")
    @classmethod
    def preset_exists(cls, name: str | None) -> str | None:
        if name is not None and name not in PRESETS:
            raise ValueError(f"There is no preset {name!r}. {did_you_mean(name, PRESETS) or _LISTED}")
        return name


def _refuse_unusable(algorithm: dict[str, Any]) -> None:
    pinned = algorithm.get("packages")
    for name, version in pinned.items() if isinstance(pinned, dict) else ():
        if problem := plugins.package_problem(str(name), str(version)):
            raise fault_at(
                "algorithm.packages", f"{problem}: install {name}=={version}, or leave `packages` out"
            )
    for kind in plugins.named_parts(algorithm):
        if fault := plugins.installed().blocked.get(kind):
            place = plugins.SLOT_KINDS.get(kind[0])
            raise fault_at(f"algorithm.{place.path}.type" if place else "algorithm.preset", str(fault))


def _check_own_presets() -> None:
    own = plugins.installed()
    for name in list(own.presets):
        slots = PRESETS[name].slots
        if missing := [".".join(kind) for kind in plugins.named_parts(slots) if kind in own.blocked]:
            withdraw(name, f"it needs `{missing[0]}`, which cannot be used")
            continue
        try:
            Algorithm.model_validate({"preset": name, **slots})
        except ValidationError as error:
            first = error.errors()[0]
            where = (first.get("ctx") or {}).get("param") or ".".join(map(str, first["loc"]))
            withdraw(name, f"its slots are not valid settings of an algorithm: {where}: {first['msg']}")


_check_own_presets()


def fill_packages(algorithm: dict[str, Any]) -> None:
    algorithm["packages"] = {**algorithm["packages"], **plugins.packages_of(algorithm)}


def fill_lengths(algorithm: dict[str, Any], max_completion_tokens: int) -> None:
    """In a dumped `Algorithm`, set missing lengths to the completion limit and a missing `cache` to its
    default.
    """
    aggregation = algorithm["loss"]["aggregation"]
    if aggregation["type"] == "constant" and aggregation["length"] is None:
        aggregation["length"] = max_completion_tokens
    for term in (algorithm["shaping"].get(name) for name in ("soft_overlong", "cosine_length")):
        if term and term["weight"] > 0 and term["limit"] is None:
            term["limit"] = max_completion_tokens
        if term and term["weight"] > 0 and term.get("cache", 0) is None:
            term["cache"] = default_cache(term["limit"])


def fill_mismatch(algorithm: dict[str, Any], loss: Loss) -> None:
    """In a dumped `Algorithm`, set importance weights, unless the surrogate compares with the sampler."""
    if not loss.surrogate.reads_sampler:
        slot = ImportanceWeights(mode="token_truncate", ratio_max=2.0)
        algorithm["loss"]["mismatch"] = slot.model_dump()


def fill_critic(algorithm: dict[str, Any], learning_rate: float) -> None:
    """In a dumped `Algorithm`, set the critic's missing learning rate to the policy's."""
    critic = algorithm["critic"]
    if "learning_rate" in critic and critic["learning_rate"] is None:
        critic["learning_rate"] = learning_rate
