"""Derives a probe job from a job."""

import math

from reinforge.spec import JobSpec

GROUPS = 64
"""Target number of groups: enough for a histogram and for shares to within about 0.06."""
MIN_STEPS, MAX_STEPS = 4, 12
"""The first step warms up and is not timed; jobs with large steps use few."""
NO_LEARNING = 1e-12
"""A learning rate too small to move a weight: every step samples the base model, and costs what a real one costs."""


def probe(spec: JobSpec) -> JobSpec:
    """`spec` for a few steps, without learning and evaluation.

    Dynamic sampling is removed, because it would hide the groups without signal; `assess` adds its cost.
    """
    probed = spec.model_dump(mode="json")
    steps = min(MAX_STEPS, max(MIN_STEPS, math.ceil(GROUPS / spec.rollout.prompts_per_step)))
    probed["name"] = f"Pre-flight of {spec.name or spec.model}"[:200]
    probed["limits"] |= {"steps": steps, "checkpoint_every": steps, "max_seconds": None}
    probed["evaluation"] |= {"rows": 0, "every_steps": 0}
    probed["optimizer"] |= {
        "learning_rate": NO_LEARNING,
        "initial_learning_rate": None,
        "warmup_steps": 0,
        "schedule": "constant",
    }
    if probed["algorithm"]["selection"]["type"] == "dynamic_sampling":
        probed["algorithm"]["selection"] = {"type": "keep_all"}
        probed["algorithm"]["preset"] = None
    return JobSpec.model_validate(probed)
