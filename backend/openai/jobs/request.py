"""A request to create a fine-tuning job as a `JobSpec`, and the spec's faults in the request's own words."""

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
    given: dict[str, Any]
    """A raw `JobSpec`, as the job keeps it."""
    spec: JobSpec
    openai: dict[str, Any]
    """`Job.openai`."""
    notes: list[str]
    """What the request says and the platform does not do."""


def reinforcement(body: JobCreate) -> Reinforcement:
    """The method's settings. Raises InvalidInput for what is not offered."""
    if body.method is None or body.method.type != "reinforcement":
        kind = body.method.type if body.method else "supervised"
        raise InvalidInput(
            f"The method {kind!r} is not offered: jobs here learn from a grader.",
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
            "`hyperparameters` beside `method` is for supervised jobs.",
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


def translate(body: JobCreate, method: Reinforcement, rows: int, hidden_size: int | None) -> Translated:
    """`rows` in the training file; a part of them is held out unless there is a validation file.

    hidden_size: of the base model; None where no worker has stored it.

    Raises InvalidInput with the request's field at fault.
    """
    held_out = body.validation_file
    seed = secrets.randbelow(2**31) if body.seed is None else body.seed
    asked = method.hyperparameters or Hyperparameters()
    notes = _notes(method, asked)
    reward = as_reward(method.grader)
    kept = (asked.model_extra or {}).get("held_out_rows")
    training = training_rows(rows, held_out, kept)
    resolved = hyperparameters.resolve(asked, training, body.model, hidden_size)
    given = resolved.spec
    given["model"] = body.model
    data = {"dataset": body.training_file} | given.get("data", {})
    given["data"] = data if held_out is None else data | {"held_out": held_out}
    given["rewards"] = [reward]
    given["seed"] = seed
    given["metadata"] = body.metadata or {}
    if body.suffix:
        given["name"] = body.suffix
    with in_the_requests_words():
        try:
            spec = JobSpec.model_validate(given)
        except ValidationError as error:
            raise validation_error(error.errors(), given) from error
    shown: dict[str, Any] = {"grader": method.grader, "hyperparameters": resolved.shown}
    shown["response_format"] = method.response_format
    kept_words = {"suffix": body.suffix, "reinforcement": shown}
    return Translated(given, spec, kept_words, notes)


@contextmanager
def in_the_requests_words() -> Iterator[None]:
    """An error about a field of the specification names the request's field instead."""
    try:
        yield
    except ReinforgeError as error:
        before = error.param
        error.param = _param(before)
        if error.hint is not None:
            error.hint = error.hint.replace("data.columns.", f"{hyperparameters.WHERE}.columns.")
        if before and error.param and before != error.param:
            error.message = error.message.replace(before, error.param)
        for each in error.errors:
            if "param" in each:
                each["param"] = _param(each["param"])
        raise


def _param(path: str | None) -> str | None:
    if path is None:
        return None
    if path == "data.dataset":
        return "training_file"
    if path == "data.held_out":
        return "validation_file"
    if path.startswith("rewards[0]"):
        return GRADER + re.sub(r"^\.(source|type|reward|entry)$", "", path.removeprefix("rewards[0]"))
    return hyperparameters.name_of(path) or path


def training_rows(rows: int, held_out: str | None, kept: Any) -> int:
    """Rows that train: `rows` in the training file, of which `data.held_out_rows` may be kept back."""
    if held_out is not None or rows < 2:
        return max(rows, 1)
    # A number that cannot be is refused with the whole specification.
    usable = isinstance(kept, int) and 0 <= kept < rows
    return rows - held_out_count(rows, kept if usable else None)


def _notes(method: Reinforcement, asked: Hyperparameters) -> list[str]:
    notes = []
    if method.response_format is not None:
        _check_format(method.response_format)
        notes.append(
            "response_format is kept and not enforced while sampling: sample.output_json is filled whenever a "
            "completion is JSON."
        )
    if asked.reasoning_effort != "default":
        notes.append("reasoning_effort has no effect: say how long to think in the prompt.")
    return notes


def _check_format(format: dict[str, Any]) -> None:
    """OpenAI's `{type, json_schema: {name, schema, strict}}` and Azure's `{type, name, schema, strict}`."""
    where = "method.reinforcement.response_format"
    inner = format.get("json_schema", format)
    if format.get("type") != "json_schema" or not isinstance(inner, dict):
        raise InvalidInput(
            'It has to be {"type": "json_schema", "json_schema": {"name": …, "schema": …}}.',
            code="invalid_response_format",
            param=where,
            hint="The flat form, with name and schema beside the type, is taken too.",
        )
    if not isinstance(inner.get("schema"), dict):
        nested = ".json_schema" if "json_schema" in format else ""
        raise InvalidInput(
            "`schema` has to be a JSON Schema object.",
            code="invalid_response_format",
            param=f"{where}{nested}.schema",
        )
