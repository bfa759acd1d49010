"""Selection of groups and completions to train on."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from reinforge.algorithm.base import Probability, SpecModel, fault_at

Keep = Annotated[int, Field(ge=2, le=1024)]


class SelectionModel(SpecModel):
    needs_tools: ClassVar[bool] = False
    """Whether the selection works on tool calls, which single-turn jobs do not have."""
    reads_old_policy: ClassVar[bool] = False
    """Whether the selection needs a forward pass under the policy before the update."""

    @property
    def keeps(self) -> int | None:
        """Number of completions kept per group, the smallest if it varies; None for all."""
        return None


class KeepAll(SelectionModel):
    """Trains on every group."""

    type: Literal["keep_all"] = "keep_all"


class DynamicSampling(SelectionModel):
    """Replaces groups with equal rewards by new prompts until the step has enough groups (DAPO)."""

    type: Literal["dynamic_sampling"] = "dynamic_sampling"
    by: str | None = None
    """Name of the reward that must differ within a group; default the combined reward. Name the correctness
    reward if length or format also count.
    """
    tolerance: float = Field(default=1e-6, ge=0, le=1e6)
    """Keep a group if its standard deviation exceeds this."""
    max_rounds: int = Field(default=10, ge=1, le=1000)
    """Maximum number of sampling rounds per step; after them the step trains on fewer groups."""


First = Annotated[KeepAll | DynamicSampling, Field(discriminator="type")]


class GfpoModel(SelectionModel):
    metric: Literal["length", "token_efficiency"] = "length"
    """Keep the shortest completions (`length`) or those with the most reward per token (`token_efficiency`),
    which needs graded rewards.
    """
    first: First = KeepAll()
    """Selection of groups, applied before completions are selected."""


class Gfpo(GfpoModel):
    """Compares and trains on only the shortest or most efficient completions of each group (GFPO), for short
    answers.
    """

    type: Literal["gfpo"] = "gfpo"
    keep: Keep = 4
    """Completions to keep per group. Paper: 8 of 16 or 24, 4 of 8."""

    @property
    def keeps(self) -> int:
        return self.keep


class GfpoAdaptive(GfpoModel):
    """GFPO that keeps fewer completions of easier prompts. A prompt's difficulty is the quartile of its
    mean reward among all prompts so far.
    """

    type: Literal["gfpo_adaptive"] = "gfpo_adaptive"
    keep_easy: Keep = 4
    """Completions to keep in the quartile with the highest mean reward."""
    keep_medium: Keep = 6
    """Completions to keep in the quartile with the second-highest mean reward."""
    keep_hard: Keep = 8
    """Completions to keep in the quartile with the second-lowest mean reward."""
    keep_very_hard: Keep = 8
    """Completions to keep in the quartile with the lowest mean reward, and during the warm-up."""
    warmup: int = Field(default=64, ge=1, le=1_000_000)
    """Number of groups after which the quartiles are used."""

    @property
    def keeps(self) -> int:
        return min(self.keep_easy, self.keep_medium, self.keep_hard, self.keep_very_hard)


class GuidedCorrection(SelectionModel):
    """Corrects imperfect completions before they are compared (EDGE-GRPO): by a cue, by cue and answer, or by
    the dataset's solution.
    """

    type: Literal["guided_correction"] = "guided_correction"
    full_reward: float = Field(default=1.0, ge=-1e6, le=1e6)
    """Completions with a lower reward are corrected. Paper: 2, for accuracy and format."""
    cue: str = Field(
        default="\nWait, that looks wrong. Let me go through it again.\n", min_length=1, max_length=2000
    )
    """Text appended to a wrong completion, which the policy then continues."""
    cue_share: Probability = 0.5
    """Share of the corrected completions that get the cue alone."""
    answer_share: Probability = 0.25
    """Share of the corrected completions that get cue and answer; the rest are replaced by the solution."""
    max_tokens: int = Field(default=256, ge=1, le=1_048_576)
    """Maximum number of tokens sampled after the cue."""
    max_prompt_tokens: int = Field(default=256, ge=1, le=1_048_576)
    """Prompts with this many tokens or more are not corrected."""
    train_injected: bool = False
    """Also train on inserted tokens, as the authors do."""

    @model_validator(mode="after")
    def shares_fit(self) -> Self:
        if self.cue_share + self.answer_share > 1 + 1e-9:
            raise fault_at(
                "algorithm.selection.answer_share",
                "cue_share and answer_share together exceed 1: lower one of them",
            )
        return self


class Axpo(SelectionModel):
    """Samples new continuations after a tool call's opening marker, for prompts whose tool calls all failed
    (AXPO).
    """

    type: Literal["axpo"] = "axpo"
    needs_tools: ClassVar[bool] = True
    reads_old_policy: ClassVar[bool] = True
    extra: Probability = 0.25
    """Maximum number of continuations in a step, as a share of the step's completions."""
    branches: int = Field(default=4, ge=2, le=1024)
    """K: continuations per selected call."""
    correct_above: float = Field(default=0.5, ge=-1e6, le=1e6)
    """Completions with a reward above this count as right."""


Selection = Annotated[
    KeepAll | DynamicSampling | Gfpo | GfpoAdaptive | GuidedCorrection | Axpo, Field(discriminator="type")
]
