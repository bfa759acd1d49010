"""A step whose update fails leaves no trace, so that a pause can keep what there was behind the last whole step."""

from collections.abc import Iterator
from contextlib import contextmanager

from reinforge.spec import JobSpec
from worker.policy.base import Critic, Policy


@contextmanager
def undone_if_it_fails(spec: JobSpec, policy: Policy, critic: Critic | None) -> Iterator[None]:
    """Optimizer steps of one step of the job are taken inside. What is raised behind the first of several finds weights
    and optimizers as they were; a single one has nothing behind it that could fail."""
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
