"""Surrogate objectives: a loss per token from the policy ratio and the advantage A."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reinforge.algorithm.base import SpecModel, fault_at


class SurrogateModel(SpecModel):
    reads_sampler: ClassVar[bool] = False
    """Whether the objective compares the policy with the sampler, so that no mismatch correction applies."""
    per_completion: ClassVar[bool] = False
    """Whether the objective has one value per completion, which averages over tokens would weigh
    by length.
    """

    @property
    def reads_ratio(self) -> bool:
        return True


class PpoClip(SurrogateModel):
    """-min(ratio·A, clip(ratio, 1 - eps_low, 1 + eps_high)·A) per token, with A the advantage."""

    type: Literal["ppo_clip"] = "ppo_clip"
    eps_low: float = Field(default=0.2, gt=0, le=1)
    """Tokens with A < 0 have no gradient below ratio 1 - eps_low. Papers: 0.2; GSPO 3e-4."""
    eps_high: float = Field(default=0.2, gt=0, le=100)
    """Tokens with A > 0 have no gradient above ratio 1 + eps_high. Papers: 0.2; clip-higher 0.28 (DAPO) to
    0.4; GSPO 4e-4; R1-Zero 10.
    """
    delta: float | None = Field(default=None, gt=1, le=1000)
    """Two-sided clip: tokens with A < 0 have no gradient above this ratio. INTELLECT-2: 4."""
    dual_clip: float | None = Field(default=None, gt=1, le=1000)
    """Bounds the loss of a token with A < 0 at dual_clip · |A|, equivalent to `delta`. verl: 3."""

    @model_validator(mode="after")
    def bounds_agree(self) -> Self:
        if self.delta is not None and self.dual_clip is not None:
            raise fault_at(
                "algorithm.loss.surrogate.dual_clip",
                "delta and dual_clip set the same bound: set only one of them",
            )
        for name, bound in (("delta", self.delta), ("dual_clip", self.dual_clip)):
            if bound is not None and bound <= 1 + self.eps_high:
                raise fault_at(
                    f"algorithm.loss.surrogate.{name}",
                    f"{name} {bound:g} is not above the clip: set it above 1 + eps_high = "
                    f"{1 + self.eps_high:g}",
                )
        return self


class UpperOnly(SurrogateModel):
    """-min(ratio·A, min(ratio, ratio_cap)·A): bounds only tokens with A > 0 (TIC-GRPO). Use it with a KL
    penalty.
    """

    type: Literal["upper_only"] = "upper_only"
    ratio_cap: float = Field(default=1.28, gt=1, le=1000)
    """Tokens with A > 0 have no gradient above this ratio (1 + eps_high of a clip)."""


class Cispo(SurrogateModel):
    """-min(ratio, ratio_cap)·A·log policy, without gradient through the minimum, so that capped tokens still
    learn (MiniMax-M1, ScaleRL).
    """

    type: Literal["cispo"] = "cispo"
    ratio_cap: float = Field(default=5.0, gt=0, le=1000)
    """Upper bound of the weight itself, not a distance from 1. ScaleRL: 5."""


class CispoTwoSided(SurrogateModel):
    """-clip(ratio, 1 - eps_low, 1 + eps_high)·A·log policy, without gradient through the clip (CISPO in
    verl).
    """

    type: Literal["cispo_two_sided"] = "cispo_two_sided"
    eps_low: float = Field(default=0.2, gt=0, le=1)
    """The weight is at least 1 - eps_low; 1 for no bound."""
    eps_high: float = Field(default=0.28, gt=0, le=100)
    """The weight is at most 1 + eps_high."""


class Sapo(SurrogateModel):
    """-A·sigmoid(τ·(ratio - 1))·4/τ: a soft gate instead of the clip (SAPO)."""

    type: Literal["sapo"] = "sapo"
    tau_pos: float = Field(default=1.0, gt=0, le=100)
    """Sharpness τ for A > 0. Paper: 1.0."""
    tau_neg: float = Field(default=1.05, gt=0, le=100)
    """Sharpness τ for A ≤ 0; higher values reduce the gradient sooner. Paper: 1.05."""


class Drpo(SurrogateModel):
    """-A·r + |A|·μ·(r - 1)² / (2·delta), r = policy ÷ sampler μ: a quadratic penalty instead of a clip
    (DRPO).
    """

    type: Literal["drpo"] = "drpo"
    reads_sampler: ClassVar[bool] = True
    delta: float = Field(default=12.5, gt=0, le=1000)
    """Smaller values penalise more. Paper: 12.5, which changes the gradient by at most 8 %; below 1
    the penalty can reverse it.
    """
    mu_weighted: bool = True
    """Weigh the penalty by the sampler's probability μ; otherwise (SPO) rare tokens are penalised like
    common ones.
    """

    @property
    def reads_ratio(self) -> bool:
        return False


class Dppo(SurrogateModel):
    """-A·min(r, ratio_cap)·log policy, r = policy ÷ sampler, without tokens on which policy and sampler
    already differ too much (DPPO).
    """

    type: Literal["dppo"] = "dppo"
    reads_sampler: ClassVar[bool] = True
    divergence: Literal["binary_tv", "binary_kl"] = "binary_tv"
    """Distance per token, between two outcomes, the sampled token or any other: |policy - sampler|, or
    KL(sampler ‖ policy).
    """
    delta: float = Field(default=0.15, gt=0, le=100)
    """Tokens beyond this distance are dropped if the update would increase it. Paper: 0.15 for TV, 0.05
    for KL.
    """
    ratio_cap: float = Field(default=20.0, gt=0, le=1000)
    """Upper bound of the weight r. Paper: 20."""

    @property
    def reads_ratio(self) -> bool:
        return False


class Reinforce(SurrogateModel):
    """-A·log policy: the plain policy gradient."""

    type: Literal["reinforce"] = "reinforce"
    weighted: bool = False
    """Multiply by the ratio to the old policy, without gradient, for several updates per step."""

    @property
    def reads_ratio(self) -> bool:
        return self.weighted


class Gmpo(SurrogateModel):
    """-A·geometric mean of the ratios, each limited to exp(± log_clip), per completion (GMPO)."""

    type: Literal["gmpo"] = "gmpo"
    per_completion: ClassVar[bool] = True
    log_clip: float = Field(default=0.4, gt=0, le=20)
    """Bound of a token's log-ratio. Paper: 0.4."""

    @property
    def reads_ratio(self) -> bool:
        return False


class Vespo(SurrogateModel):
    """-φ(W)·A·log policy, φ(W) = exp(λ)·W^k·exp(-λ·W) without gradient, with W the completion's ratio
    (VESPO).
    """

    type: Literal["vespo"] = "vespo"
    k_pos: float = Field(default=2.0, ge=0, le=100)
    """Power k for A ≥ 0. TRL: 2."""
    lambda_pos: float = Field(default=3.0, gt=0, le=100)
    """Decay λ for A ≥ 0. TRL: 3."""
    k_neg: float = Field(default=3.0, ge=0, le=100)
    """Power k for A < 0. TRL: 3."""
    lambda_neg: float = Field(default=2.0, gt=0, le=100)
    """Decay λ for A < 0. TRL: 2."""

    @property
    def reads_ratio(self) -> bool:
        return False


Surrogate = Annotated[
    PpoClip | UpperOnly | Cispo | CispoTwoSided | Sapo | Drpo | Dppo | Reinforce | Gmpo | Vespo,
    Field(discriminator="type"),
]
