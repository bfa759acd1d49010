"""The job that measures a job."""

import math

from reinforge.spec import JobSpec

GROUPS = 64
"""Groups wanted: pass rates of that many rows make a histogram, and a share known to about 0.06."""
MIN_STEPS, MAX_STEPS = 4, 12
"""The first step warms up and is not timed; a job with large steps is measured by few of them."""
NO_LEARNING = 1e-12
"""A learning rate too small to move a weight: every step samples the base model, and costs what a real one costs."""


def probe(spec: JobSpec) -> JobSpec:
    """`spec` for a few steps, without learning and evaluation.

    Dynamic sampling is taken out, because it would hide the groups without a spread that it leaves out; `assess`
    adds what it costs.
    """
    asked = spec.model_dump(mode="json")
    steps = min(MAX_STEPS, max(MIN_STEPS, math.ceil(GROUPS / spec.rollout.prompts_per_step)))
    asked["name"] = f"Pre-flight of {spec.name or spec.model}"[:200]
    asked["limits"] |= {"steps": steps, "checkpoint_every": steps, "max_seconds": None}
    asked["evaluation"] |= {"rows": 0, "every_steps": 0}
    asked["optimizer"] |= {
        "learning_rate": NO_LEARNING,
        "initial_learning_rate": None,
        "warmup_steps": 0,
        "schedule": "constant",
    }
    if asked["algorithm"]["selection"]["type"] == "dynamic_sampling":
        asked["algorithm"]["selection"] = {"type": "keep_all"}
        asked["algorithm"]["preset"] = None
    return JobSpec.model_validate(asked)
