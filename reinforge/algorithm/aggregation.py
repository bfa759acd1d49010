"""Aggregation settings: how the loss is averaged over tokens and completions."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class AggregationModel(SpecModel):
    by_completion: ClassVar[bool] = False
    """Whether losses with one value per completion can use this aggregation without `force_aggregation`."""
    can_be_forced: ClassVar[bool] = True
    """Whether `force_aggregation` can allow this aggregation."""


class SeqMean(AggregationModel):
    """Mean over a completion's tokens, then over completions (GRPO)."""

    type: Literal["seq_mean"] = "seq_mean"
    by_completion: ClassVar[bool] = True


class TokenMean(AggregationModel):
    """Mean over all tokens of the optimizer batch; long completions weigh more (DAPO)."""

    type: Literal["token_mean"] = "token_mean"
    denominator: Literal["kept", "all"] = "kept"
    """Divide by the number of tokens in the loss (`kept`), or of all sampled tokens, including dropped
    completions (`all`, as printed in the GFPO paper).
    """


class Constant(AggregationModel):
    """Sum over tokens divided by the number of completions × a constant length (Dr. GRPO)."""

    type: Literal["constant"] = "constant"
    length: int | None = Field(default=None, ge=1)
    """The constant length in tokens; default `rollout.max_completion_tokens`. Papers: 3000 (Dr. GRPO), 8192
    (DRPO).
    """


class SeqSumMean(AggregationModel):
    """Sum over a completion's tokens, then mean over completions (LUSPO)."""

    type: Literal["seq_sum_mean"] = "seq_sum_mean"
    by_completion: ClassVar[bool] = True


class LearnableLambda(AggregationModel):
    """Token mean weighted by completion length with a trained exponent λ (λ-GRPO).

    λ > 0 favours long completions, λ < 0 short ones; limited to ± 4.
    """

    type: Literal["lambda"] = "lambda"
    can_be_forced: ClassVar[bool] = False
    r: float = Field(default=1 / 9, gt=0, le=1)
    """Effect of length: the weight follows (1 + r·z)^λ, with z the length in standard deviations from the
    group's mean. λ-GRPO: 1/9.
    """
    initial: float = Field(default=0.0, ge=-4, le=4)
    """Initial λ."""
    learning_rate: float = Field(default=0.1, ge=0, le=10)
    """Learning rate of λ (gradient descent); 0 leaves λ constant. Third-party recipe: 0.1."""


Aggregation = Annotated[
    SeqMean | TokenMean | Constant | SeqSumMean | LearnableLambda, Field(discriminator="type")
]
