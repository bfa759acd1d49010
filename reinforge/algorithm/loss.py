"""Loss settings; objectives are in `surrogate`, averages in `aggregation`."""

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from reinforge.algorithm.aggregation import Aggregation, SeqMean
from reinforge.algorithm.base import SpecModel, fault_at
from reinforge.algorithm.kl import AdaptiveKl
from reinforge.algorithm.plugins import union
from reinforge.algorithm.surrogate import PpoClip, Surrogate

if TYPE_CHECKING:
    AnySurrogate = Surrogate
    AnyAggregation = Aggregation
else:
    AnySurrogate = union("surrogate")
    AnyAggregation = union("aggregation")


class BetaBy(SpecModel):
    """KL coefficient β for each value of a dataset column, for example of `domain` (DeepSeek-V3.2)."""

    column: str = Field(min_length=1, max_length=200)
    """Column of the dataset, such as `domain`."""
    values: dict[str, Annotated[float, Field(ge=0, le=10)]] = Field(min_length=1, max_length=64)
    """β for each value of the column; rows with other values use `beta`."""


class KlPenalty(SpecModel):
    """β · KL(policy ‖ reference), added to the loss. The reference is evaluated only if β > 0."""

    beta: float = Field(default=0.0, ge=0, le=10)
    """Weight β; 0 for no penalty. Papers: 0.001 (R1-Zero, INTELLECT-2) to 0.04 (DeepSeekMath)."""
    estimator: Literal["k2", "k3", "unbiased_k3"] = "k3"
    """Estimator, with x = log policy - log reference: k2 is x² / 2, k3 is exp(-x) - 1 + x, unbiased_k3
    is k3 times the policy ratio (DeepSeek-V3.2).
    """
    level: Literal["token", "sequence"] = "token"
    """`token` estimates and averages per token, like the loss; `sequence` estimates from each completion's
    mean x and averages over completions.
    """
    adaptive: AdaptiveKl | None = None
    """Adapt β to the KL; `beta` is the initial value."""
    beta_by: BetaBy | None = None
    """A different β for each value of a dataset column. Metrics per value need the column in
    `data.columns.slice`.
    """

    @model_validator(mode="after")
    def one_way_to_beta(self) -> Self:
        if self.adaptive is not None and self.beta_by is not None:
            raise fault_at(
                "algorithm.loss.kl.beta_by",
                "`adaptive` needs one β for all rows: leave out `adaptive` or `beta_by`",
            )
        if self.adaptive is not None and self.beta == 0:
            raise fault_at(
                "algorithm.loss.kl.beta",
                "`adaptive` multiplies `beta`, so that 0 would stay 0: set `beta` above 0",
            )
        return self

    @property
    def acts(self) -> bool:
        return self.beta > 0 or (self.beta_by is not None and any(self.beta_by.values.values()))

    @model_validator(mode="after")
    def unbiased_per_token(self) -> Self:
        if self.level == "sequence" and self.estimator == "unbiased_k3":
            raise fault_at(
                "algorithm.loss.kl.level",
                "unbiased_k3 weighs each token by its own ratio: use level token, or estimator k2 or k3",
            )
        return self


class AllTokens(SpecModel):
    """Trains on every token of a completion."""

    type: Literal["all"] = "all"


class TopEntropy(SpecModel):
    """Trains only on the tokens of the optimizer batch with the highest entropy (80/20 rule)."""

    type: Literal["top_entropy"] = "top_entropy"
    share: float = Field(default=0.2, gt=0, le=1)
    """Share of tokens that keep their policy term. Paper: 0.2."""


PolicyTokens = Annotated[AllTokens | TopEntropy, Field(discriminator="type")]


class NoEntropyBonus(SpecModel):
    """Entropy is not part of the loss."""

    type: Literal["none"] = "none"


class StaticEntropy(SpecModel):
    """Subtracts coefficient · mean entropy from the loss, so that the policy stays uncertain for longer."""

    type: Literal["static"] = "static"
    coefficient: float = Field(default=0.001, gt=0, le=1)
    """Coefficient η of the bonus. Papers: 0.001 (GFPO)."""


class AdaptiveEntropy(SpecModel):
    """An entropy bonus with an adaptive coefficient, which acts only at or below the target (Skywork-OR1)."""

    type: Literal["adaptive"] = "adaptive"
    target: float = Field(default=0.2, gt=0, le=20)
    """Mean entropy, in nats per token, at or below which the bonus acts. Skywork-OR1: 0.2; models with an
    entropy of 2 to 10 nats need a higher target.
    """
    initial: float = Field(default=0.0, ge=0, le=1)
    """Initial coefficient."""
    step: float = Field(default=0.005, gt=0, le=1)
    """Change of the coefficient per update: up at or below the target, down above it. Skywork-OR1:
    0.005.
    """
    maximum: float = Field(default=1.0, gt=0, le=10)
    """Highest coefficient; the lowest is 0."""

    @model_validator(mode="after")
    def starts_within(self) -> Self:
        if self.initial > self.maximum:
            raise fault_at("algorithm.loss.entropy.initial", "`initial` is above `maximum`: lower `initial`")
        return self


Entropy = Annotated[NoEntropyBonus | StaticEntropy | AdaptiveEntropy, Field(discriminator="type")]


class NoOffPolicyMask(SpecModel):
    """Keeps completions from which the policy has drifted."""

    type: Literal["none"] = "none"


class OffPolicySequenceMask(SpecModel):
    """Drops the policy term of completions with a negative advantage from which the policy has drifted
    (DeepSeek-V3.2, eq. 9).
    """

    type: Literal["sequence"] = "sequence"
    delta: float = Field(default=0.5, ge=0, le=100)
    """A completion with a negative advantage is dropped if its mean of log sampler - log policy exceeds this.
    TRL suggests 0.5.
    """


OffPolicyMask = Annotated[NoOffPolicyMask | OffPolicySequenceMask, Field(discriminator="type")]


class NoMismatchCorrection(SpecModel):
    """No correction: assumes that sampler and trainer give equal probabilities."""

    type: Literal["none"] = "none"


class ImportanceWeights(SpecModel):
    """Multiplies the policy term by trainer ÷ sampler probability, truncated (TIS) or masked (MIS):
    engines compute slightly different probabilities.
    """

    type: Literal["importance"] = "importance"
    mode: Literal["token_truncate", "token_mask", "sequence_truncate", "sequence_mask"] = "sequence_mask"
    """Weight per token or completion. Outside the bounds it is set to the bound (`truncate`) or to 0
    (`mask`).
    """
    ratio_max: float = Field(default=3.0, gt=0, le=1000)
    """Upper bound of the weight. TRL: 3.0 with sequence_mask; verl: 2.0."""
    ratio_min: float | None = Field(default=None, ge=0, le=1)
    """Lower bound of the weight; default none."""


Mismatch = Annotated[NoMismatchCorrection | ImportanceWeights, Field(discriminator="type")]


class NoAuxiliary(SpecModel):
    """No additional term."""

    type: Literal["none"] = "none"


class DpoPair(SpecModel):
    """Adds weight · the DPO loss between a prompt's best and worst completion, if their rewards differ."""

    type: Literal["dpo_pair"] = "dpo_pair"
    weight: float = Field(default=0.1, gt=0, le=100)
    """Weight η relative to the policy loss; the DPO loss is a mean over pairs."""
    beta: float = Field(default=0.1, gt=0, le=10)
    """β of DPO: how quickly the loss saturates with the margin in log-probability. DPO paper: 0.1 to 0.5."""


class Hierarchy(SpecModel):
    """Adds weight · IH-GRPO's term, which credits the decision to call a tool separately from the choice of
    token.
    """

    type: Literal["hierarchy"] = "hierarchy"
    weight: float = Field(default=1e-3, gt=0, le=1)
    """Weight λ. Paper: 1e-3; useful from 1e-4 to 1e-2."""
    execute_token: str = Field(default="<tool_call>", min_length=1, max_length=64)
    """String that opens a tool call; its first token stands for the decision to call. Most models have one
    special token for it.
    """


Auxiliary = Annotated[NoAuxiliary | DpoPair | Hierarchy, Field(discriminator="type")]


BY_COMPLETION = frozenset({"sequence", "arithmetic", "trajectory"})


class Loss(SpecModel):
    ratio_level: Literal["token", "sequence", "gspo_token", "arithmetic", "trajectory", "action"] = "token"
    """Ratio of new to old policy: per `token`; per completion, as the geometric mean of its tokens
    (`sequence`, GSPO), the same value with each token's gradient (`gspo_token`), the arithmetic mean
    (`arithmetic`, GRPO-S) or the product (`trajectory`); or per `action` of an agent, as geometric mean.
    """
    surrogate: AnySurrogate = PpoClip()
    """Objective per token."""
    aggregation: AnyAggregation = SeqMean()
    """Average over tokens and completions."""
    force_aggregation: bool = False
    """Allow `token_mean` or `constant` for objectives with one value per completion, although
    completions are then weighed by length.
    """
    kl: KlPenalty = KlPenalty()
    """Penalty for distance from the base model."""
    policy_tokens: PolicyTokens = AllTokens()
    """Tokens whose policy term and entropy count; the KL penalty applies to all."""
    entropy: Entropy = NoEntropyBonus()
    """Bonus for entropy."""
    off_policy_mask: OffPolicyMask = NoOffPolicyMask()
    """Drops the policy term of completions from which the policy has drifted."""
    mismatch: Mismatch = NoMismatchCorrection()
    """Correction for different probabilities of sampler and trainer. Default with rollout.engine
    `vllm` or rollout.ahead: importance, mode token_truncate, ratio_max 2, unless the surrogate
    compares with the sampler itself.
    """
    aux: Auxiliary = NoAuxiliary()
    """Additional term of the loss."""

    @model_validator(mode="after")
    def parts_agree(self) -> Self:
        self._average_fits()
        surrogate, kind = self.surrogate, self.surrogate.type
        if not surrogate.reads_ratio and self.ratio_level != "token":
            raise fault_at(
                "algorithm.loss.ratio_level",
                f"surrogate `{kind}` does not use the ratio, so ratio_level `{self.ratio_level}` would be "
                "ignored: leave it at `token`",
            )
        if self.mismatch.type == "importance":
            if surrogate.reads_sampler:
                raise fault_at(
                    "algorithm.loss.mismatch.type",
                    f"surrogate `{kind}` compares with the sampler itself: set mismatch to `none`",
                )
            if kind == "vespo" and self.mismatch.mode.startswith("sequence"):
                raise fault_at(
                    "algorithm.loss.mismatch.mode",
                    "surrogate `vespo` multiplies the weights of tokens: use mode token_truncate or token_mask",
                )
        return self

    def _average_fits(self) -> None:
        average, forced = self.aggregation, self.force_aggregation
        one_value = self.ratio_level in BY_COMPLETION or self.surrogate.per_completion
        odd = one_value and not average.by_completion
        if odd and not (forced and average.can_be_forced):
            remedy = ", or force it with `force_aggregation: true`" if average.can_be_forced else ""
            raise fault_at(
                "algorithm.loss.aggregation.type",
                f"with one value per completion, `{average.type}` would weigh completions by their length: use "
                f"`seq_mean`, or `seq_sum_mean` to weigh by length on purpose (LUSPO){remedy}",
            )
        if forced and not odd:
            raise fault_at(
                "algorithm.loss.force_aggregation",
                f"`force_aggregation` is not used: `{average.type}` fits ratio_level `{self.ratio_level}` and "
                f"surrogate `{self.surrogate.type}` as it is. Leave it out",
            )
