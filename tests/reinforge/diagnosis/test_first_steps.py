"""Curves of a job's first steps, which scatter and lag behind one another."""

import pytest

from reinforge.diagnosis.detectors import diagnose
from reinforge.diagnosis.job_input import JobInput
from tests.reinforge.diagnosis.test_detectors import FLAT, SPEC, diagnosed, ramp


def test_a_reward_that_rises_some_steps_after_the_length_is_no_problem() -> None:
    """A policy learns to work the answer out, and to do it right 6 steps later."""
    shapes = {**FLAT, "completions/length_mean": ramp(2, 26, 47, 6), "reward/mean": ramp(8, 0.5, 0.85)}
    shapes |= {"held_out/reward_mean": ramp(8, 0.5, 0.85)}
    for steps in range(5, 20):
        assert "length_inflation" not in [item.code for item in diagnosed(shapes, steps)]


@pytest.mark.parametrize(
    ("held_out", "reported"), [((0.46, 0.62, 0.73, 0.65), False), ((0.46, 0.48, 0.45, 0.5), True)]
)
def test_a_rise_of_single_steps_is_not_what_held_out_rows_are_compared_with(
    held_out: tuple[float, ...], reported: bool
) -> None:
    rewards = (
        0.36,
        0.58,
        0.56,
        0.5,
        0.53,
        0.62,
        0.75,
        0.86,
        0.87,
        0.77,
        0.79,
        0.75,
        0.7,
        0.81,
        0.78,
        0.7,
        0.77,
        0.86,
    )
    series = {
        "reward/mean": list(enumerate(rewards, 1)),
        "held_out/reward_mean": list(zip((0, 5, 10, 15), held_out, strict=True)),
        "held_out/reward_std_error": [(step, 0.07) for step in (0, 5, 10, 15)],
    }
    codes = [item.code for item in diagnose(JobInput(series, spec=SPEC, held_out_rows=48))]
    assert ("no_generalization" in codes) == reported
