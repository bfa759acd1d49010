"""`base.sharded` of a job file: its default, the engine it resolves to, and what is refused at creation."""

from typing import Any

import pytest
from pydantic import ValidationError

from reinforge.spec import JobSpec


def job(**fields: Any) -> dict[str, Any]:
    rewards = [{"source": "def grade(sample, item): return 0"}]
    return {"model": "m", "data": {"dataset": "rows.jsonl"}, "rewards": rewards, **fields}


SHARDED = {"base": {"sharded": True}, "devices_per_job": 2}


def test_the_base_is_whole_on_each_device_by_default() -> None:
    assert JobSpec.model_validate(job(devices_per_job=2)).base.sharded is False


def test_vllm_samples_for_a_sharded_base() -> None:
    spec = JobSpec.model_validate(job(**SHARDED)).resolved(engine="transformers")
    assert spec.rollout.engine == "vllm" and spec.algorithm.loss.mismatch is not None
    assert JobSpec.model_validate(spec.model_dump()) == spec


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"devices_per_job": 1}, "base.sharded", "set devices_per_job to 2 or more"),
        (
            {"base": {"sharded": True, "precision": "nf4"}},
            "base.precision",
            "does not divide quantised weights",
        ),
        ({"rollout": {"engine": "transformers"}}, "rollout.engine", "use engine `vllm`"),
        ({"rollout": {"top_p": 0.9}}, "rollout.top_p", "truncated distribution"),
        ({"rollout": {"ahead": 1}}, "rollout.ahead", "are not sampled ahead"),
        ({"adapter": {"targets": ["q_proj", "experts"]}}, "adapter.targets", "experts get no adapter"),
    ],
)
def test_what_a_sharded_base_cannot_do_is_refused(fields: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason) as error:
        JobSpec.model_validate(job(**SHARDED | fields))
    [problem] = error.value.errors()
    assert problem["ctx"]["param"] == field
