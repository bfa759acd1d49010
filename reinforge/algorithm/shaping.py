"""Shaping settings: how a completion's rewards become one number."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reinforge.algorithm.base import Probability, SpecModel, fault_at
from reinforge.algorithm.kl import AdaptiveKl

# ── Terms beside the rewards ────────────────────────────────────────────────────────────────────────────────


class Term(SpecModel):
    """A weighted term that is added to a completion's reward."""

    @model_validator(mode="after")
    def values_are_used(self) -> Self:
        fields = type(self).model_fields
        for name in [] if getattr(self, "weight", 1) else fields.keys() - {"weight"}:
            if getattr(self, name) != fields[name].default:
                raise ValueError(f"`{name}` is not used while `weight` is 0: set `weight`, or leave it out")
        return self


class SoftOverlong(Term):
    """Penalty near the token limit: 0 until limit - cache tokens, then linear to `weight` (DAPO)."""

    weight: float = Field(default=0.0, ge=0, le=1000)
    """Penalty at the limit; 0 for none. Papers: 1."""
    limit: int | None = Field(default=None, ge=1)
    """Length in tokens from which the penalty is full; default `rollout.max_completion_tokens`.
    DAPO: 20480.
    """
    cache: int | None = Field(default=None, ge=1)
    """Tokens before the limit at which the penalty begins; default a fifth of the limit, as in DAPO."""


def default_cache(limit: int) -> int:
    return max(1, limit // 5)


class Repetition(Term):
    """Penalty of `weight` · the share of repeated n-grams of tokens."""

    weight: float = Field(default=0.0, ge=0, le=1000)
    """Maximum penalty; 0 for none."""
    n: int = Field(default=5, ge=1, le=100)
    """Number of tokens in an n-gram. GFPO: 5."""


class CosineLength(Term):
    """Adds `weight` · a cosine of the length: highest for short right completions, lowest for short wrong
    ones.
    """

    weight: float = Field(default=0.0, ge=0, le=1000)
    """Factor of the term; 0 for none."""
    limit: int | None = Field(default=None, ge=1)
    """Length in tokens at which the curve ends; default `rollout.max_completion_tokens`."""
    correct_above: float = Field(default=0.5, ge=-1e6, le=1e6)
    """Completions with a combined reward above this, before terms are added, count as right."""
    correct: tuple[float, float] = (0.5, 1.0)
    """Values of right completions at the limit and at 0 tokens. open-r1: 0.5 and 1."""
    wrong: tuple[float, float] = (-0.5, -1.0)
    """Values of wrong completions at the limit and at 0 tokens. open-r1: -0.5 and -1."""
    longer_is_better: bool = False
    """Swap the two values of right completions."""


class RewardKl(SpecModel):
    """β · (log policy - log reference) of sampled tokens, subtracted from the reward: a penalty
    without gradient.
    """

    beta: float = Field(default=0.0, ge=0, le=10)
    """Weight β; 0 for no penalty. Papers: 0.03 (RLOO) to 0.05 (TRL's RLOO)."""
    level: Literal["sequence", "token"] = "sequence"
    """`sequence` subtracts the sum over tokens from the completion's reward (RLOO), `token` each token's
    value from that token's reward (REINFORCE++).
    """
    adaptive: AdaptiveKl | None = None
    """Adapt β to the KL (PPO for language models, verl); `beta` is the initial value."""

    @model_validator(mode="after")
    def level_is_used(self) -> Self:
        if self.beta == 0 and self.level != "sequence":
            raise fault_at(
                "algorithm.shaping.kl.level",
                "`level` is not used while `beta` is 0: set `beta`, or leave it out",
            )
        if self.beta == 0 and self.adaptive is not None:
            raise fault_at(
                "algorithm.shaping.kl.beta",
                "`adaptive` multiplies `beta`, so that 0 would stay 0: set `beta` above 0",
            )
        return self


# ── Combinations ────────────────────────────────────────────────────────────────────────────────────────────


class ShapingModel(SpecModel):
    compares: ClassVar[bool] = False
    """Whether shaping compares the completions of a group, so that its result is the advantage."""
    mask_truncated: bool = False
    """Compare truncated completions with the others, but do not train on them (overlong filtering)."""

    @property
    def changes_reward(self) -> bool:
        """Whether training maximises something other than the weighted sum of rewards."""
        return not self.compares


class OutcomeShaping(ShapingModel):
    """Base of the types that accept additional terms."""

    soft_overlong: SoftOverlong = SoftOverlong()
    """Penalty near the token limit."""
    repetition: Repetition = Repetition()
    """Penalty for repetition."""
    cosine_length: CosineLength = CosineLength()
    """Term that depends on length and correctness."""
    kl: RewardKl = RewardKl()
    """Distance from the base model, subtracted from the reward. Not together with `loss.kl`."""


class WeightedSum(OutcomeShaping):
    """R_i = Σ_k weight_k · r_{i,k} over completion i's rewards. Missing rewards are skipped; a completion
    without any is left out of its group.
    """

    type: Literal["weighted_sum"] = "weighted_sum"

    @property
    def changes_reward(self) -> bool:
        terms = self.soft_overlong, self.repetition, self.cosine_length
        return any(term.weight > 0 for term in terms) or self.kl.beta > 0


class MoGrpo(ShapingModel):
    """A_i = Σ_k weight_k · (r_{i,k} - mean_k) / (std_k + eps), normalised in the group: rewards count by
    weight, regardless of scale.

    Needs `advantage: identity`.
    """

    type: Literal["mo_grpo"] = "mo_grpo"
    compares: ClassVar[bool] = True
    std: Literal["sample", "population"] = "sample"
    """Divisor of the sum of squared deviations: `sample` G - 1, `population` the group size G."""
    eps: float = Field(default=1e-4, ge=0, le=1)
    """Added to each standard deviation."""


class Gdpo(ShapingModel):
    """MO-GRPO's sum, normalised to mean 0 and standard deviation 1 over the batch. Needs `advantage:
    identity`.
    """

    type: Literal["gdpo"] = "gdpo"
    compares: ClassVar[bool] = True
    eps: float = Field(default=1e-4, ge=0, le=1)
    """Added to each standard deviation."""


class Pow3r(OutcomeShaping):
    """Rubric rewards whose weights move, for each prompt, towards the criteria on which its completions
    differ (POW3R).

    Needs a reward that returns `criteria`.
    """

    type: Literal["pow3r"] = "pow3r"
    weights: dict[str, Annotated[float, Field(ge=-1e6, le=1e6)]] = Field(default_factory=dict, max_length=64)
    """Weight of each criterion, by the name that the reward returns; negative for faults; default 1."""
    categories: dict[str, str] = Field(default_factory=dict, max_length=64)
    """Category of each criterion. Categories count equally, whatever their size; unlisted criteria
    share one.
    """
    blend: Probability = 0.5
    """How far weights follow the variance of a criterion's scores; 0: not at all."""
    smoothing: float = Field(default=0.5, gt=0, le=1)
    """How fast weights move; 1: at once."""
    alpha_min: float = Field(default=0.25, gt=0, le=1)
    """Smallest factor of a criterion's weight."""
    alpha_max: float = Field(default=4.0, ge=1, le=1000)
    """Largest factor of a criterion's weight."""


class Vpo(OutcomeShaping):
    """Completions get the reward of their best candidate answer, averaged over random weights of the
    dimensions (VPO). Needs a reward that returns `candidates`.
    """

    type: Literal["vpo"] = "vpo"
    alpha: float = Field(default=1.0, gt=0, le=1000)
    """Concentration of the weights' Dirichlet distribution: 1 is uniform, higher values give more equal
    weights. Paper: 1.
    """
    draws: int = Field(default=64, ge=1, le=10_000)
    """Number of random weights per prompt and step."""


Shaping = Annotated[WeightedSum | MoGrpo | Gdpo | Pow3r | Vpo, Field(discriminator="type")]
