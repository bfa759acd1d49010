"""A step is held in memory as a whole, so its size has a limit."""

import pytest
from pydantic import ValidationError

from reinforge.spec import MOST_COMPLETIONS_PER_STEP, JobSpec

JOB = {"model": "m", "data": {"dataset": "d"}, "rewards": [{"type": "python", "name": "r", "reward": "r"}]}


def spec(prompts: int, completions: int) -> JobSpec:
    rollout = {"prompts_per_step": prompts, "completions_per_prompt": completions}
    return JobSpec.model_validate(JOB | {"rollout": rollout})


def test_a_step_of_too_many_completions_is_refused_in_one_sentence() -> None:
    with pytest.raises(
        ValidationError, match="67,108,864 completions in one step; at most 262,144"
    ) as caught:
        spec(65_536, 1024)
    assert caught.value.error_count() == 1


@pytest.mark.parametrize("prompts", [4096, 65_536])
def test_a_large_step_is_accepted(prompts: int) -> None:
    rollout = spec(prompts, MOST_COMPLETIONS_PER_STEP // prompts).rollout
    assert rollout.prompts_per_step == prompts
