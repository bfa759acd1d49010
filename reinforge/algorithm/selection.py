"""Slot 2 in a specification: which groups and completions are trained on."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reinforge.algorithm.base import Probability, SpecModel, fault_at

Keep = Annotated[int, Field(ge=2, le=1024)]


class SelectionModel(SpecModel):
    """What rules between slots need to know about a selection."""

    needs_tools: ClassVar[bool] = False
    """It works on tool calls: a job with one completion per prompt has none."""
    reads_old_policy: ClassVar[bool] = False
    """It reads log-probabilities under the weights that sampled: a forward pass before this slot."""

    @property
    def keeps(self) -> int | None:
        """Completions of a group that are trained on, at most; None for all."""
        return None


class KeepAll(SelectionModel):
    """Every group is trained on."""

    type: Literal["keep_all"] = "keep_all"


class DynamicSampling(SelectionModel):
    """Groups whose rewards are all the same are replaced by other prompts until the step has enough (DAPO)."""

    type: Literal["dynamic_sampling"] = "dynamic_sampling"
    by: str | None = None
    """Name of the reward whose spread decides; default the combined one. Name the one for correctness where length
    or format are rewarded too."""
    tolerance: float = Field(default=1e-6, ge=0, le=1e6)
    """A group is kept when its standard deviation is larger."""
    max_rounds: int = Field(default=10, ge=1, le=1000)
    """Times that prompts are sampled for a step, the first included; then it trains on what there is."""


First = Annotated[KeepAll | DynamicSampling, Field(discriminator="type")]


class GfpoModel(SelectionModel):
    """What both forms of GFPO share."""

    metric: Literal["length", "token_efficiency"] = "length"
    """Keep the shortest, or those with most reward per token; the latter needs graded rewards."""
    first: First = KeepAll()
    """Runs before: which groups there are to keep completions of."""


class Gfpo(GfpoModel):
    """Of each group only the best by length are compared and trained on (GFPO): answers stay short."""

    type: Literal["gfpo"] = "gfpo"
    keep: Keep = 4
    """Completions kept of each group. Paper: 8 of 16 or 24, 4 of 8."""

    @property
    def keeps(self) -> int:
        return self.keep


class GfpoAdaptive(GfpoModel):
    """GFPO that keeps fewer completions of easier prompts: by the quarter of all prompts so far that its mean reward
    is in."""

    type: Literal["gfpo_adaptive"] = "gfpo_adaptive"
    keep_easy: Keep = 4
    """Of the quarter with most reward."""
    keep_medium: Keep = 6
    """Of the next."""
    keep_hard: Keep = 8
    """Of the next."""
    keep_very_hard: Keep = 8
    """Of the quarter with least, and of all before the warm-up is over."""
    warmup: int = Field(default=64, ge=1, le=1_000_000)
    """Groups seen before prompts are told apart."""

    @property
    def keeps(self) -> int:
        return min(self.keep_easy, self.keep_medium, self.keep_hard, self.keep_very_hard)


class GuidedCorrection(SelectionModel):
    """Completions below full reward are repaired before they are compared (EDGE-GRPO): told that they look wrong,
    shown the answer, or replaced by the dataset's solution."""

    type: Literal["guided_correction"] = "guided_correction"
    full_reward: float = Field(default=1.0, ge=-1e6, le=1e6)
    """A completion with less is repaired. Paper: 2, accuracy and format."""
    cue: str = Field(
        default="\nWait, that looks wrong. Let me go through it again.\n", min_length=1, max_length=2000
    )
    """Put behind a wrong completion, which the policy then continues."""
    cue_share: Probability = 0.5
    """Of repairs: by the cue alone."""
    answer_share: Probability = 0.25
    """Of repairs: by the cue and the answer; the rest become the solution."""
    max_tokens: int = Field(default=256, ge=1, le=1_048_576)
    """Tokens sampled behind the cue."""
    max_prompt_tokens: int = Field(default=256, ge=1, le=1_048_576)
    """Longer prompts are left alone; so is one of exactly this length."""
    train_injected: bool = False
    """Train on the tokens that were put in as well, as the authors do."""

    @model_validator(mode="after")
    def shares_fit(self) -> Self:
        if self.cue_share + self.answer_share > 1 + 1e-9:
            raise fault_at(
                "algorithm.selection.answer_share",
                "cue_share and answer_share together exceed 1: lower one of them",
            )
        return self


class Axpo(SelectionModel):
    """Prompts on which every tool call went wrong are sampled again from behind the call's opening marker (AXPO)."""

    type: Literal["axpo"] = "axpo"
    needs_tools: ClassVar[bool] = True
    reads_old_policy: ClassVar[bool] = True
    extra: Probability = 0.25
    """Continuations of a step, as a share of its completions."""
    branches: int = Field(default=4, ge=2, le=1024)
    """K continuations of each call chosen."""
    correct_above: float = Field(default=0.5, ge=-1e6, le=1e6)
    """A completion is right when its reward is larger than this."""


Selection = Annotated[
    KeepAll | DynamicSampling | Gfpo | GfpoAdaptive | GuidedCorrection | Axpo, Field(discriminator="type")
]
