"""Restores weights after a failed update, so that a pause saves the last completed step."""

from collections.abc import Iterator
from contextlib import contextmanager

from reinforge.spec import JobSpec
from worker.policy.base import Critic, Policy


@contextmanager
def undone_if_it_fails(spec: JobSpec, policy: Policy, critic: Critic | None) -> Iterator[None]:
    """Restore weights and optimizers after an exception, if the step has several updates or a critic."""
    if spec.algorithm.updates_per_step == 1 and critic is None:
        yield
        return
    before, critic_before = policy.state(), critic.state() if critic is not None else None
    try:
        yield
    except BaseException:
        policy.load_state(before)
        if critic is not None and critic_before is not None:
            critic.load_state(critic_before)
        raise
