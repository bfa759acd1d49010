"""Derives a pre-flight's probe job: a few steps of a job, without learning or evaluations."""

import math

from reinforge.environment_spec import AgentSpec
from reinforge.errors import InvalidInput
from reinforge.spec import JobSpec

GROUPS = 64
MIN_STEPS, MAX_STEPS = 4, 12
NO_LEARNING = 1e-12
"""Learning rate too small to move a weight."""


def probe(spec: JobSpec) -> JobSpec:
    """Derive the probe job. Raises InvalidInput `environment_not_supported` if the user runs the rollouts."""
    if isinstance(spec.environment, AgentSpec):
        raise InvalidInput(
            "A pre-flight samples completions itself, but your own program runs the rollouts of this job.",
            code="environment_not_supported",
            param="environment.type",
            hint="Create the job with `limits.steps: 1`, and start a runner: the first step shows the same.",
        )
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
