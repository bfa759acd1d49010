"""`base.precision` of a job file: its default, what it resolves to, and what is refused at creation."""

from typing import Any

import pytest
from pydantic import ValidationError

from reinforge.spec import JobSpec


def job(**fields: Any) -> dict[str, Any]:
    rewards = [{"source": "def grade(sample, item): return 0"}]
    return {"model": "m", "data": {"dataset": "rows.jsonl"}, "rewards": rewards, **fields}


def test_the_base_is_in_full_precision_by_default() -> None:
    spec = JobSpec.model_validate(job())
    assert spec.base.precision == "full"
    assert spec.resolved(engine="vllm").rollout.engine == "vllm"


def test_in_nf4_the_trainer_samples() -> None:
    spec = JobSpec.model_validate(job(base={"precision": "nf4"})).resolved(engine="vllm")
    assert spec.rollout.engine == "transformers"
    assert JobSpec.model_validate(spec.model_dump()) == spec


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"rollout": {"engine": "vllm"}}, ("rollout", "engine"), "vLLM would sample from other weights"),
        ({"adapter": {"targets": ["q_proj", "experts"]}}, ("adapter", "targets"), "does not quantise"),
        ({"base": {"precision": "int4"}}, ("base", "precision"), "'full' or 'nf4'"),
        ({"base": {"precision": "nf4", "block": 64}}, ("base", "block"), "Extra inputs"),
    ],
)
def test_what_nf4_cannot_do_is_refused(fields: dict[str, Any], field: tuple[str, str], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason) as error:
        JobSpec.model_validate(job(**{"base": {"precision": "nf4"}, **fields}))
    [problem] = error.value.errors()
    context = problem.get("ctx", {})
    assert problem["loc"][-2:] == field or context.get("param") == ".".join(field), problem
