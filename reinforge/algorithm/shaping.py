"""Slot 1 in a specification: from the rewards of a completion to one number."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reinforge.algorithm.base import Probability, SpecModel, fault_at
from reinforge.algorithm.kl import AdaptiveKl

# ── Terms beside the rewards ────────────────────────────────────────────────────────────────────────────────


class Term(SpecModel):
    """What is computed from a completion itself and added to its reward."""

    @model_validator(mode="after")
    def values_are_used(self) -> Self:
        fields = type(self).model_fields
        for name in [] if getattr(self, "weight", 1) else fields.keys() - {"weight"}:
            if getattr(self, name) != fields[name].default:
                raise ValueError(f"`{name}` is not used while `weight` is 0: set `weight`, or leave it out")
        return self


class SoftOverlong(Term):
    """Takes off more and more as a completion nears the limit: 0 until limit - cache tokens, then evenly to `weight`
    (DAPO)."""

    weight: float = Field(default=0.0, ge=0, le=1000)
    """Taken off at the limit; 0 for nothing. Papers: 1."""
    limit: int | None = Field(default=None, ge=1)
    """Tokens at which all is taken off; default `rollout.max_completion_tokens`. DAPO: 20480."""
    cache: int | None = Field(default=None, ge=1)
    """Tokens before the limit at which it begins; default a fifth of the limit, as in DAPO (4096 of 20480)."""


def default_cache(limit: int) -> int:
    """A fifth, as in DAPO."""
    return max(1, limit // 5)


class Repetition(Term):
    """Takes off `weight` · the share of n-grams of tokens that a completion repeats."""

    weight: float = Field(default=0.0, ge=0, le=1000)
    """Taken off a completion that only repeats itself; 0 for nothing."""
    n: int = Field(default=5, ge=1, le=100)
    """Tokens of an n-gram. GFPO: 5."""


class CosineLength(Term):
    """Adds `weight` · a value that falls with length along a cosine: short and right is best, short and wrong is
    worst."""

    weight: float = Field(default=0.0, ge=0, le=1000)
    """Factor of the value; 0 for nothing."""
    limit: int | None = Field(default=None, ge=1)
    """Tokens at which the curve ends; default `rollout.max_completion_tokens`."""
    correct_above: float = Field(default=0.5, ge=-1e6, le=1e6)
    """A completion is right when the combined reward, before anything is added, is larger than this."""
    correct: tuple[float, float] = (0.5, 1.0)
    """Values of right completions at the limit and at no tokens. open-r1: 0.5 and 1."""
    wrong: tuple[float, float] = (-0.5, -1.0)
    """Values of wrong completions at the limit and at no tokens. open-r1: -0.5 and -1."""
    longer_is_better: bool = False
    """Swap the two values of right completions."""


class RewardKl(SpecModel):
    """β · (log policy - log reference) of the sampled tokens, taken off the reward: a penalty without gradient."""

    beta: float = Field(default=0.0, ge=0, le=10)
    """Weight; 0 for none. Papers: 0.03 (RLOO) to 0.05 (TRL's RLOO)."""
    level: Literal["sequence", "token"] = "sequence"
    """Take the sum over tokens off the completion's reward (RLOO), or each token's off that token (REINFORCE++)."""
    adaptive: AdaptiveKl | None = None
    """Let β follow the distance it causes (PPO for language models, verl); `beta` is where it starts."""

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
                "`adaptive` multiplies `beta`, and 0 stays 0: set where it starts",
            )
        return self


# ── Combinations ────────────────────────────────────────────────────────────────────────────────────────────


class ShapingModel(SpecModel):
    """What all combinations share, and what rules between slots need to know about them."""

    compares: ClassVar[bool] = False
    """It compares the completions of a group itself: what it gives is the advantage."""
    mask_truncated: bool = False
    """Completions that hit the token limit are compared with the others, but not trained on (overlong filtering)."""

    @property
    def changes_reward(self) -> bool:
        """Training maximises another number than the weighted sum of the rewards."""
        return not self.compares


class OutcomeShaping(ShapingModel):
    """Combinations that give a reward, to which more can be added."""

    soft_overlong: SoftOverlong = SoftOverlong()
    """Punishment for nearing the token limit."""
    repetition: Repetition = Repetition()
    """Punishment for repeating oneself."""
    cosine_length: CosineLength = CosineLength()
    """Value of length, by whether the completion is right."""
    kl: RewardKl = RewardKl()
    """Distance from the base model, taken off the reward. Not together with `loss.kl`."""


class WeightedSum(OutcomeShaping):
    """R_i = Σ_k weight_k · r_{i,k}; missing values are skipped, a row with none leaves its group."""

    type: Literal["weighted_sum"] = "weighted_sum"

    @property
    def changes_reward(self) -> bool:
        terms = self.soft_overlong, self.repetition, self.cosine_length
        return any(term.weight > 0 for term in terms) or self.kl.beta > 0


class MoGrpo(ShapingModel):
    """A_i = Σ_k weight_k · (r_{i,k} - mean_g) / (std_g + eps): each reward counts by its weight whatever its scale.

    Needs `advantage: identity`.
    """

    type: Literal["mo_grpo"] = "mo_grpo"
    compares: ClassVar[bool] = True
    std: Literal["sample", "population"] = "sample"
    """`sample` divides the squares by G - 1, `population` by G."""
    eps: float = Field(default=1e-4, ge=0, le=1)
    """Added to each standard deviation."""


class Gdpo(ShapingModel):
    """MO-GRPO's sum, brought to mean 0 and deviation 1 over the whole batch. Needs `advantage: identity`."""

    type: Literal["gdpo"] = "gdpo"
    compares: ClassVar[bool] = True
    eps: float = Field(default=1e-4, ge=0, le=1)
    """Added to each standard deviation."""


class Pow3r(OutcomeShaping):
    """Rubrics whose weights move, prompt by prompt, to the criteria that still tell completions apart (POW3R).

    A reward has to return `criteria`. Metrics show the reward's own score, and beside it the shaped reward.
    """

    type: Literal["pow3r"] = "pow3r"
    weights: dict[str, Annotated[float, Field(ge=-1e6, le=1e6)]] = Field(default_factory=dict, max_length=64)
    """What each criterion is worth, by the names that the reward returns; negative for what should not happen; 1 for
    one not listed."""
    categories: dict[str, str] = Field(default_factory=dict, max_length=64)
    """Each criterion's category. Categories count the same, however many criteria they have; those not listed are one
    category."""
    blend: Probability = 0.5
    """How far weights follow the spread of a criterion: 0 not at all."""
    smoothing: float = Field(default=0.5, gt=0, le=1)
    """How fast they move: 1 at once."""
    alpha_min: float = Field(default=0.25, gt=0, le=1)
    """Smallest factor of a criterion's weight."""
    alpha_max: float = Field(default=4.0, ge=1, le=1000)
    """Largest factor."""


class Vpo(OutcomeShaping):
    """A completion holds several candidate answers; its reward is that of the best, averaged over random weights of
    the dimensions they are scored in (VPO). A reward has to return `candidates`."""

    type: Literal["vpo"] = "vpo"
    alpha: float = Field(default=1.0, gt=0, le=1000)
    """Of the Dirichlet distribution of weights: 1 is uniform, more is closer to equal weights. Paper: 1."""
    draws: int = Field(default=64, ge=1, le=10_000)
    """Weights drawn for each prompt in each step."""


Shaping = Annotated[WeightedSum | MoGrpo | Gdpo | Pow3r | Vpo, Field(discriminator="type")]
