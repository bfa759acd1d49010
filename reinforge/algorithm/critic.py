"""Critics, which predict the reward for advantage `gae`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class CriticModel(SpecModel):
    foresees: ClassVar[bool] = True
    """Whether the critic predicts a value for every token."""


class NoCritic(CriticModel):
    """No critic: completions are compared with each other (GRPO and related methods)."""

    type: Literal["none"] = "none"
    foresees: ClassVar[bool] = False


class ValueHead(CriticModel):
    """The base model with a second adapter and one output per token (PPO). Its values start at 0; it is
    trained on the policy's mini-batches and is not part of checkpoints.
    """

    type: Literal["value_head"] = "value_head"
    base: Literal["shared", "own"] = "shared"
    """`shared`: policy and critic use one frozen base model, to save memory. `own`: the critic loads a second
    copy. The results are equal.
    """
    learning_rate: float | None = Field(default=None, gt=0, le=1)
    """Peak learning rate, on the policy's schedule; default `optimizer.learning_rate`."""
    clip_range: float | None = Field(default=0.2, gt=0, le=1e6)
    """Largest change of a value per step, in reward units; null for no limit. TRL: 0.2, verl: 0.5."""


Critic = Annotated[NoCritic | ValueHead, Field(discriminator="type")]
