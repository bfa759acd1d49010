"""Requests to `/v1/fine_tuning/jobs` that tests start from."""

from typing import Any

import httpx

from tests.backend.openai import schemas
from tests.backend.server import Backend

CHECK = {
    "type": "string_check",
    "name": "Exact match",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
CODE = {"type": "python", "name": "code", "source": "def grade(sample, item):\n    return 1.0\n"}


def body(backend: Backend, grader: dict[str, Any] = CHECK, **changes: Any) -> dict[str, Any]:
    """`hyperparameters` and `response_format` go into the method; the rest beside it."""
    method: dict[str, Any] = {"grader": grader}
    # The test's model has a short context.
    method["hyperparameters"] = {"max_completion_tokens": 16} | changes.pop("hyperparameters", {})
    if "response_format" in changes:
        method["response_format"] = changes.pop("response_format")
    return {
        "model": backend.add_model(),
        "training_file": changes.pop("training_file", None) or backend.add_dataset(),
        "method": {"type": "reinforcement", "reinforcement": method},
    } | changes


def created(wire: httpx.Client, request: dict[str, Any], **headers: str) -> dict[str, Any]:
    answer = wire.post("/fine_tuning/jobs", json=request, headers=headers)
    assert answer.status_code == 200, answer.text
    job: dict[str, Any] = schemas.checked(answer.json(), schemas.JOB)
    return job
