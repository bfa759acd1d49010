"""Settings of the advantage: how much better a completion or a token is than expected."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reinforge.algorithm.base import SpecModel, fault_at

Eps = Annotated[float, Field(ge=0, le=1)]
Std = Literal["sample", "population"]
CorrectAbove = Annotated[float, Field(ge=-1e6, le=1e6)]


class AdvantageModel(SpecModel):
    needs_turns: ClassVar[bool] = False
    """Whether the advantage compares the turns of an agent, which single-turn jobs do not have."""

    reads_old_policy: ClassVar[bool] = False
    """Whether the advantage needs a forward pass under the policy before the update."""
    reads_outcome: ClassVar[bool] = True
    """Whether the advantage reads the completion's own reward, not only rewards of steps or turns."""
    reads_token_rewards: ClassVar[bool] = False
    reads_values: ClassVar[bool] = False
    compares_group: ClassVar[bool] = True
    """Whether the advantage compares completions of a prompt, so that a single one gives no signal."""

    @property
    def per_token(self) -> bool:
        """Whether tokens of a completion get different advantages, which losses per completion cannot use."""
        return False


def _changed(model: SpecModel, name: str) -> bool:
    return bool(getattr(model, name) != type(model).model_fields[name].default)


class GrpoAdvantage(AdvantageModel):
    """A_i = (R_i - mean_g) / (std_g + eps), with R_i the reward and g the group; 0 if the group's rewards are
    equal.
    """

    type: Literal["grpo"] = "grpo"
    std: Std = "sample"
    """Divisor of the sum of squared deviations: `sample` G - 1 (TRL, verl), `population` the group size G. At
    G = 2 the results differ by a factor of √2.
    """
    eps: Eps = 1e-4
    """Added to the standard deviation. TRL: 1e-4, verl: 1e-6."""


class DrGrpoAdvantage(AdvantageModel):
    """The reward minus the group's mean, without dividing by the standard deviation."""

    type: Literal["dr_grpo"] = "dr_grpo"


class GrpoBatchStdAdvantage(AdvantageModel):
    """The reward minus the group's mean, divided by (standard deviation of the batch's rewards + eps)."""

    type: Literal["grpo_batch_std"] = "grpo_batch_std"
    eps: Eps = 1e-4
    """Added to the standard deviation."""


class RlooAdvantage(AdvantageModel):
    """The reward minus the mean of the group's other rewards: G / (G - 1) · (reward - group mean)."""

    type: Literal["rloo"] = "rloo"


class ReinforcePpAdvantage(AdvantageModel):
    """Return-to-go of token rewards, normalised to mean 0 and variance 1 over all tokens of the batch.

    Ignores groups; long completions weigh more.
    """

    type: Literal["reinforce_pp"] = "reinforce_pp"
    reads_token_rewards: ClassVar[bool] = True
    compares_group: ClassVar[bool] = False
    gamma: float = Field(default=1.0, gt=0, le=1)
    """Discount per token. Papers: 1."""
    std: Std = "sample"
    """Variance over all tokens: `sample` (verl) or `population` (OpenRLHF)."""

    @property
    def per_token(self) -> bool:
        return True


class ReinforcePpBaselineAdvantage(AdvantageModel):
    """The reward minus the group's mean, normalised over the batch."""

    type: Literal["reinforce_pp_baseline"] = "reinforce_pp_baseline"
    level: Literal["token", "sequence"] = "token"
    """`token` normalises to mean 0 and variance 1 over the batch's tokens: long completions weigh more, and
    groups with equal rewards can get advantages other than 0. `sequence` divides by the standard deviation
    over completions.
    """
    std: Std = "sample"
    """Divisor of the sum of squared deviations: `sample` their number - 1, `population` their number."""
    eps: Eps = 1e-4
    """Added to the standard deviation at level `sequence`."""

    @model_validator(mode="after")
    def eps_is_used(self) -> Self:
        if self.level == "token" and _changed(self, "eps"):
            raise fault_at(
                "algorithm.advantage.eps",
                "`eps` is not used at level `token`: leave it out, or set `level: sequence`",
            )
        return self

    @property
    def per_token(self) -> bool:
        return self.level == "token"


class ProcessAdvantage(AdvantageModel):
    """A token's advantage is the sum of the normalised rewards of the steps that end at or after it. Needs a
    reward that returns `steps`; ignores the completion's own reward.
    """

    type: Literal["process"] = "process"
    reads_outcome: ClassVar[bool] = False
    std: Std = "sample"
    """Kind of standard deviation over the group's steps; see `grpo`."""
    eps: Eps = 1e-4
    """Added to the standard deviation."""

    @property
    def per_token(self) -> bool:
        return True


class LengthCorrectedAdvantage(AdvantageModel):
    """The reward divided by the length in tokens, normalised in the group (TIC-GRPO).

    With equal positive rewards, short completions gain.
    """

    type: Literal["length_corrected"] = "length_corrected"
    std: Std = "sample"
    """Divisor of the sum of squared deviations: `sample` G - 1, `population` the group size G."""
    eps: Eps = 1e-8
    """Added to the standard deviation, which is small after the division by length."""


class GaeAdvantage(AdvantageModel):
    """Generalised advantage estimation with a critic's values (PPO). Needs `algorithm.critic`; ignores
    groups, so one completion per prompt is enough.
    """

    type: Literal["gae"] = "gae"
    reads_token_rewards: ClassVar[bool] = True
    reads_values: ClassVar[bool] = True
    compares_group: ClassVar[bool] = False
    gamma: float = Field(default=1.0, gt=0, le=1)
    """Discount per token. Papers: 1 for language models."""
    lam: float = Field(default=1.0, ge=0, le=1)
    """λ: how far credit reaches back. 1 compares the whole return with the value (no bias, more noise), 0
    trusts the critic after one token. verl: 1; PPO, TRL: 0.95, at which a final reward fades over dozens of
    tokens.
    """
    whiten: bool = True
    """Normalise advantages to mean 0 and standard deviation 1 over the step's tokens."""

    @property
    def per_token(self) -> bool:
        return True


class GagpoAdvantage(AdvantageModel):
    """Credit for each turn of an agent, with the value of a state estimated from all completions that reached
    it.
    """

    type: Literal["gagpo"] = "gagpo"
    reads_outcome: ClassVar[bool] = False
    gamma: float = Field(default=0.95, ge=0, le=1)
    """Discount per turn."""
    lam: float = Field(default=0.9, ge=0, le=1)
    """λ: how far credit reaches back; 0 for one turn, 1 for all turns."""
    state_scope: Literal["group", "batch"] = "group"
    """Where equal states share one value: in the completions of a prompt (`group`) or of the
    step (`batch`).
    """
    eps: Eps = 1e-4
    """Added to the standard deviation over the group's turns."""

    needs_turns: ClassVar[bool] = True

    @property
    def per_token(self) -> bool:
        return True


class LampoAdvantage(AdvantageModel):
    """A_i = 1 / (G - 1) · Σ_j w_ij (R_i - R_j) over the group, with weights from the completions'
    probabilities.
    """

    type: Literal["lampo"] = "lampo"
    reads_old_policy: ClassVar[bool] = True
    weight: Literal["lambda", "confidence", "uniform"] = "lambda"
    """Weight of a pair: `lambda` is higher if the policy finds the worse completion more likely, `confidence`
    if the two probabilities differ more; `uniform` is 1, as in RLOO.
    """
    tau: float = Field(default=1.0, gt=0, le=100)
    """Temperature of the weights, in nats per token."""

    @model_validator(mode="after")
    def tau_is_used(self) -> Self:
        if self.weight == "uniform" and _changed(self, "tau"):
            raise fault_at(
                "algorithm.advantage.tau",
                "`tau` is not used with `weight: uniform`: leave it out, or take another weight",
            )
        return self


class GtpoAdvantage(AdvantageModel):
    """Uncertain tokens get more credit in right completions and less blame in wrong ones."""

    type: Literal["gtpo"] = "gtpo"
    reads_old_policy: ClassVar[bool] = True
    base: float = Field(default=1.0, ge=0, le=100)
    """Reward of a right completion's tokens before normalisation."""
    entropy_weight: float = Field(default=0.1, ge=0, le=100)
    """Weight of a token's share of the total entropy of right (or wrong) completions at its position. Paper:
    0.1, with base 1.
    """
    norm_scope: Literal["separate", "joint"] = "separate"
    """`separate` (paper) normalises the tokens of right and of wrong completions separately, which removes
    the difference of their means; `joint` normalises them together.
    """
    correct_above: CorrectAbove = 0.5
    """Completions with a reward above this count as right."""
    eps: Eps = 1e-8
    """Added to the variance."""

    @property
    def per_token(self) -> bool:
        return True


class GrpoSAdvantage(AdvantageModel):
    """Like `gtpo`, but from a completion's mean entropy and with one advantage for all its tokens."""

    type: Literal["grpo_s"] = "grpo_s"
    reads_old_policy: ClassVar[bool] = True
    base: float = Field(default=1.0, ge=0, le=100)
    """Reward of right completions before normalisation."""
    entropy_weight: float = Field(default=0.1, ge=0, le=100)
    """Weight of a completion's share of the total entropy of the group's right (or wrong) completions. Paper:
    0.1, with base 1.
    """
    norm_scope: Literal["separate", "joint"] = "separate"
    """`separate` (paper) normalises right and wrong completions separately, `joint` together."""
    correct_above: CorrectAbove = 0.5
    """Completions with a reward above this count as right."""
    eps: Eps = 1e-8
    """Added to the variance."""


class EdaAdvantage(AdvantageModel):
    """GRPO's advantage divided by the completion's entropy relative to its group; larger for confident
    completions.
    """

    type: Literal["eda"] = "eda"
    reads_old_policy: ClassVar[bool] = True
    eps: Eps = 1e-4
    """Added to the standard deviation."""
    max_scale: float = Field(default=10.0, ge=1, le=1e6)
    """The relative entropy is limited to the range from 1 / max_scale to max_scale."""


class PasskMaxAdvantage(AdvantageModel):
    """The best completion of a group gets its reward minus the second-best reward, all others 0."""

    type: Literal["passk_max"] = "passk_max"
    normalise: bool = True
    """Divide by the group's standard deviation + eps."""
    eps: Eps = 1e-6
    """Added to the standard deviation."""

    @model_validator(mode="after")
    def eps_is_used(self) -> Self:
        if not self.normalise and _changed(self, "eps"):
            raise fault_at(
                "algorithm.advantage.eps", "`eps` is not used with `normalise: false`: leave it out"
            )
        return self


class OpoAdvantage(AdvantageModel):
    """The reward minus the group's length-weighted mean, Σ_j L_j R_j / Σ_j L_j, with lengths L in tokens."""

    type: Literal["opo"] = "opo"


class IdentityAdvantage(AdvantageModel):
    """The shaped reward itself, for shaping that compares completions (MO-GRPO, GDPO)."""

    type: Literal["identity"] = "identity"


Advantage = Annotated[
    GrpoAdvantage
    | DrGrpoAdvantage
    | GrpoBatchStdAdvantage
    | RlooAdvantage
    | ReinforcePpAdvantage
    | ReinforcePpBaselineAdvantage
    | ProcessAdvantage
    | LengthCorrectedAdvantage
    | GaeAdvantage
    | GagpoAdvantage
    | LampoAdvantage
    | GtpoAdvantage
    | GrpoSAdvantage
    | EdaAdvantage
    | PasskMaxAdvantage
    | OpoAdvantage
    | IdentityAdvantage,
    Field(discriminator="type"),
]
