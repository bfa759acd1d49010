"""Early stopping: held-out reward stops improving, or groups have equal rewards."""

from reinforge.spec import JobSpec
from worker.training.checkpoint.resume_state import Position

HELD_OUT, NO_SIGNAL = "held_out_flat", "no_signal"


def note_evaluation(spec: JobSpec, position: Position, reward: float | None) -> None:
    if reward is None:
        return
    best = position.best_held_out
    if best is None or reward > best + spec.limits.early_stop.min_delta:
        position.best_held_out, position.stale_evaluations = reward, 0
    else:
        position.stale_evaluations += 1


def note_step(spec: JobSpec, position: Position, useless: float | None) -> None:
    steps = spec.limits.early_stop.no_signal_steps
    if steps is not None:
        window = [*position.useless_groups, 1.0 if useless is None else useless]
        position.useless_groups = window[-steps:]


def ending(spec: JobSpec, position: Position, *, out_of_time: bool) -> str | None:
    """Reason to end the job after the completed step, else None."""
    if position.step >= spec.limits.steps:
        return "steps_done"
    if out_of_time:
        return "time_limit"
    stop = spec.limits.early_stop
    if stop.patience is not None and position.stale_evaluations >= stop.patience:
        return HELD_OUT
    window, steps = position.useless_groups, stop.no_signal_steps
    useless = sum(window) / max(len(window), 1)
    if steps is not None and len(window) >= steps and useless >= stop.no_signal_share:
        return NO_SIGNAL
    return None
