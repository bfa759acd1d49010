"""How slot 4 averages, in a specification: over the tokens of a completion, over completions, over both."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class AggregationModel(SpecModel):
    """What rules between parts of the loss need to know about an average."""

    by_completion: ClassVar[bool] = False
    """It is right for objectives with one value for a whole completion: others would weigh completions by length
    without being asked to."""
    can_be_forced: ClassVar[bool] = True
    """For such an objective it still means something, so that `force_aggregation` may ask for it."""


class SeqMean(AggregationModel):
    """Mean over tokens inside a completion, then over completions (GRPO)."""

    type: Literal["seq_mean"] = "seq_mean"
    by_completion: ClassVar[bool] = True


class TokenMean(AggregationModel):
    """Mean over all tokens of the optimizer batch, so that a long completion weighs more (DAPO)."""

    type: Literal["token_mean"] = "token_mean"
    denominator: Literal["kept", "all"] = "kept"
    """Divide by the tokens trained on, or by all that were sampled, left-out completions included (GFPO as printed)."""


class Constant(AggregationModel):
    """Sum over tokens divided by completions × a constant length (Dr. GRPO)."""

    type: Literal["constant"] = "constant"
    length: int | None = Field(default=None, ge=1)
    """Tokens; default `rollout.max_completion_tokens`. Papers: 3000 (Dr. GRPO), 8192 (DRPO)."""


class SeqSumMean(AggregationModel):
    """Sum over the tokens of a completion, then mean over completions (LUSPO)."""

    type: Literal["seq_sum_mean"] = "seq_sum_mean"
    by_completion: ClassVar[bool] = True


class LearnableLambda(AggregationModel):
    """Token mean in which completions count by their length, with an exponent λ that is trained (λ-GRPO).

    λ = 0 is the token mean, λ > 0 favours long completions, λ < 0 short ones; it stays within ± 4.
    """

    type: Literal["lambda"] = "lambda"
    can_be_forced: ClassVar[bool] = False
    r: float = Field(default=1 / 9, gt=0, le=1)
    """How far a length one standard deviation from its group's mean moves the base of the power. λ-GRPO: 1/9."""
    initial: float = Field(default=0.0, ge=-4, le=4)
    """λ at the start."""
    learning_rate: float = Field(default=0.1, ge=0, le=10)
    """Of λ, plain gradient descent; 0 keeps it. Third-party recipe: 0.1."""


Aggregation = Annotated[
    SeqMean | TokenMean | Constant | SeqSumMean | LearnableLambda, Field(discriminator="type")
]
