"""Choice of a job's best or final checkpoint, and its description in words."""

from collections.abc import Sequence
from typing import Literal

from reinforge.errors import StateConflict
from reinforge.schemas.checkpoints import Checkpoint
from reinforge.schemas.jobs import Job

Which = Literal["best", "final"]


def pick_checkpoint(job: Job, checkpoints: Sequence[Checkpoint], which: Which = "best") -> Checkpoint:
    """Best or final checkpoint; without held-out rewards the final. Raises StateConflict `no_adapter` before
    the job has succeeded, `no_better_checkpoint` if `which` is best and none is above the base.
    """
    final = next((checkpoint for checkpoint in checkpoints if checkpoint.final), None)
    if job.adapter is None or final is None:
        raise StateConflict(
            f"{job.id} is {job.status} and has no adapter.",
            code="no_adapter",
            hint="Choose a checkpoint by its step, or wait until the job has succeeded.",
        )
    best = next((checkpoint for checkpoint in checkpoints if checkpoint.best), None)
    if which == "final" or best is not None:
        return final if which == "final" or best is None else best
    measured = [checkpoint for checkpoint in checkpoints if checkpoint.held_out_reward is not None]
    if job.held_out_reward_before is None or not measured:
        return final
    raise StateConflict(
        none_better(job, checkpoints),
        code="no_better_checkpoint",
        hint="To use one anyway, choose the final checkpoint, or one by its step.",
    )


def none_better(job: Job, checkpoints: Sequence[Checkpoint]) -> str:
    top = max(
        (checkpoint for checkpoint in checkpoints if checkpoint.held_out_reward is not None),
        key=lambda checkpoint: (checkpoint.held_out_reward or 0.0, checkpoint.step),
    )
    base = f"{job.held_out_reward_before:.2f}"
    return (
        f"No checkpoint is better than the base ({base}): step {top.step} reached {top.held_out_reward:.2f}."
    )


def describe_checkpoint(job: Job, checkpoint: Checkpoint) -> str:
    """Text such as `step 20, the best checkpoint: held-out reward 0.96, +0.38 from the base …`."""
    mark = (
        ", the best checkpoint" if checkpoint.best else ", the final checkpoint" if checkpoint.final else ""
    )
    text = f"step {checkpoint.step}{mark}"
    if checkpoint.held_out_reward is None:
        return text
    text += f": held-out reward {checkpoint.held_out_reward:.2f}"
    if job.held_out_reward_before is None:
        return text
    gain = checkpoint.held_out_reward - job.held_out_reward_before
    text += f", {gain:+.2f} from the base"
    if (change := checkpoint.held_out_change) is not None:
        text += f" (95% interval {change.low:+.2f} to {change.high:+.2f}"
        text += ", so it may be chance)" if change.low <= 0 <= change.high else ")"
    return text
