"""The critic in a specification: a second model that foresees the reward, for the one estimator that reads it."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class CriticModel(SpecModel):
    """What rules between parts need to know about a critic."""

    foresees: ClassVar[bool] = True
    """It gives a value for every token."""


class NoCritic(CriticModel):
    """None: completions are compared with each other (GRPO and its kin)."""

    type: Literal["none"] = "none"
    foresees: ClassVar[bool] = False


class ValueHead(CriticModel):
    """The base model with an adapter of its own, as large as the policy's, and one number per token in place of the
    vocabulary (PPO). Starts at 0, is trained on the same mini-batches as the policy, and stays out of checkpoints."""

    type: Literal["value_head"] = "value_head"
    base: Literal["shared", "own"] = "shared"
    """`shared`: both adapters on one frozen base model, which takes little memory; `own`: a second copy of the base
    model, as PPO without adapters has it. The numbers are the same."""
    learning_rate: float | None = Field(default=None, gt=0, le=1)
    """At its highest, it follows the policy's schedule; default `optimizer.learning_rate`. Without adapters about ten
    times the policy's."""
    clip_range: float | None = Field(default=0.2, gt=0, le=1e6)
    """Values are pulled no further than this from where the step began, in units of reward; null for no bound. TRL
    has 0.2, verl 0.5."""


Critic = Annotated[NoCritic | ValueHead, Field(discriminator="type")]
