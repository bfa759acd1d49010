"""Translation of fine-tuning requests to `JobSpec`, and of its errors to the requests' fields."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from backend.http.errors import validation_error
from reinforge.dataset import held_out_count
from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.imports import hyperparameters
from reinforge.imports.grader import WHERE as GRADER
from reinforge.imports.grader import as_reward
from reinforge.schemas.openai_jobs import Hyperparameters, JobCreate, Reinforcement
from reinforge.spec import JobSpec


@dataclass(frozen=True)
class Translated:
    raw_spec: dict[str, Any]
    spec: JobSpec
    openai: dict[str, Any]
    notes: list[str]


def reinforcement(body: JobCreate) -> Reinforcement:
    if body.method is None or body.method.type != "reinforcement":
        kind = body.method.type if body.method else "supervised"
        raise InvalidInput(
            f"The method {kind!r} is not supported: jobs learn from a grader.",
            code="method_not_offered",
            param="method.type" if body.method else "method",
            hint='Send `method: {"type": "reinforcement", "reinforcement": {"grader": …}}`.',
        )
    if body.method.reinforcement is None:
        raise InvalidInput(
            "`method.reinforcement` is missing.",
            code="missing",
            param="method.reinforcement",
            hint="It holds the grader and the hyperparameters.",
        )
    if body.hyperparameters:
        raise InvalidInput(
            "Top-level `hyperparameters` are only for supervised jobs.",
            code="hyperparameters_misplaced",
            param="hyperparameters",
            hint=f"Put them into `{hyperparameters.WHERE}`.",
        )
    if body.integrations:
        raise InvalidInput(
            "Integrations are not offered.",
            code="integration_not_offered",
            param="integrations",
            hint="Leave them out: metrics are events of the job, and GET /api/v1/jobs/{id}/metrics has every series.",
        )
    return body.method.reinforcement


def translate(
    body: JobCreate,
    method: Reinforcement,
    rows: int,
    hidden_size: int | None,
    *,
    base: str,
    start: str | None = None,
) -> Translated:
    held_out = body.validation_file
    seed = secrets.randbelow(2**31) if body.seed is None else body.seed
    hyperparameter_values = method.hyperparameters or Hyperparameters()
    notes = _notes(method, hyperparameter_values)
    reward = as_reward(method.grader)
    held_out_rows = (hyperparameter_values.model_extra or {}).get("held_out_rows")
    training = training_rows(rows, held_out, held_out_rows)
    resolved = hyperparameters.resolve(hyperparameter_values, training, base, hidden_size)
    raw_spec = resolved.spec
    raw_spec["model"] = base
    if start is not None:
        raw_spec["adapter"] = raw_spec.get("adapter", {}) | {"start": start}
    data = {"dataset": body.training_file} | raw_spec.get("data", {})
    raw_spec["data"] = data if held_out is None else data | {"held_out": held_out}
    raw_spec["rewards"] = [reward]
    raw_spec["seed"] = seed
    raw_spec["metadata"] = body.metadata or {}
    if body.suffix:
        raw_spec["name"] = body.suffix
    with request_field_errors():
        try:
            spec = JobSpec.model_validate(raw_spec)
        except ValidationError as error:
            raise validation_error(error.errors(), raw_spec) from error
    reinforcement_view: dict[str, Any] = {"grader": method.grader, "hyperparameters": resolved.view}
    reinforcement_view["response_format"] = method.response_format
    openai_fields = {"suffix": body.suffix, "model": body.model, "reinforcement": reinforcement_view}
    return Translated(raw_spec, spec, openai_fields, notes)


@contextmanager
def request_field_errors() -> Iterator[None]:
    try:
        yield
    except ReinforgeError as error:
        before = error.param
        error.param = _param(before)
        if error.hint is not None:
            error.hint = error.hint.replace("data.columns.", f"{hyperparameters.WHERE}.columns.")
        if before and error.param and before != error.param:
            error.message = error.message.replace(before, error.param)
        for problem in error.errors:
            if "param" in problem:
                problem["param"] = _param(problem["param"])
        raise


def _param(path: str | None) -> str | None:
    if path is None:
        return None
    if path == "data.dataset":
        return "training_file"
    if path == "adapter.start":
        return "model"
    if path == "data.held_out":
        return "validation_file"
    if path.startswith("rewards[0]"):
        return GRADER + re.sub(r"^\.(source|type|reward|entry)$", "", path.removeprefix("rewards[0]"))
    return hyperparameters.name_of(path) or path


def training_rows(rows: int, held_out: str | None, held_out_rows: Any) -> int:
    if held_out is not None or rows < 2:
        return max(rows, 1)
    # A number that cannot be is refused with the whole specification.
    usable = isinstance(held_out_rows, int) and 0 <= held_out_rows < rows
    return rows - held_out_count(rows, held_out_rows if usable else None)


def _notes(method: Reinforcement, hyperparameter_values: Hyperparameters) -> list[str]:
    notes = []
    if method.response_format is not None:
        _check_format(method.response_format)
        notes.append(
            "response_format is stored but not enforced while sampling: sample.output_json is filled "
            "whenever a completion is JSON."
        )
    if hyperparameter_values.reasoning_effort != "default":
        notes.append("reasoning_effort has no effect: say how long to think in the prompt.")
    return notes


def _check_format(format: dict[str, Any]) -> None:
    where = "method.reinforcement.response_format"
    inner = format.get("json_schema", format)
    if format.get("type") != "json_schema" or not isinstance(inner, dict):
        raise InvalidInput(
            '`response_format` has to be {"type": "json_schema", "json_schema": {"name": …, "schema": …}}.',
            code="invalid_response_format",
            param=where,
            hint="The flat form, with name and schema next to type, is accepted, too.",
        )
    if not isinstance(inner.get("schema"), dict):
        nested = ".json_schema" if "json_schema" in format else ""
        raise InvalidInput(
            "`schema` has to be a JSON Schema object.",
            code="invalid_response_format",
            param=f"{where}{nested}.schema",
        )
