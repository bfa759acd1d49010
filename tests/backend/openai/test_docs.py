"""docs/openai-compatibility.md names every hyperparameter, status, field, flag and bound that it has to."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from backend.openai.chat import request, response_format
from backend.openai.graders import endpoints, response
from backend.openai.jobs import view
from backend.openai.responses import request as responses_request
from reinforge.grading import types
from reinforge.grading.templates import SAMPLE_FIELDS
from reinforge.imports import hyperparameters
from reinforge.schemas.openai_chat import ChatRequest, StreamOptions
from reinforge.schemas.openai_graders import GraderErrors, GraderRun
from reinforge.schemas.openai_jobs import Hyperparameters
from reinforge.schemas.openai_responses import ResponsesRequest

GUIDE = (Path(__file__).parents[3] / "docs" / "openai-compatibility.md").read_text()
HONOURED = {
    "model", "messages", "n", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "seed", "stream",
    "stream_options", "logprobs", "top_logprobs", "tools", "tool_choice",
}  # fmt: skip


def lines_of(name: str) -> str:
    """Rows of tables and paragraphs of the guide that name a field."""
    whole = re.sub(r"\n(?![|\n])", " ", GUIDE)
    return "\n".join(line for line in whole.splitlines() if f"`{name}`" in line)


def most(model: Any, name: str) -> float | None:
    """The largest value, or the longest, that a field takes; None without a bound."""

    def bounds(schema: Any) -> list[float]:
        if isinstance(schema, list):
            return [bound for part in schema for bound in bounds(part)]
        if not isinstance(schema, dict):
            return []
        own = [schema[key] for key in ("maximum", "maxItems", "maxLength") if key in schema]
        return own + bounds(schema.get("anyOf", []))

    return next(iter(bounds(model.model_json_schema()["properties"][name])), None)


@pytest.mark.parametrize(
    "name", sorted({*Hyperparameters.model_fields, *hyperparameters.OURS, *hyperparameters.ALIASES})
)
def test_every_hyperparameter_is_in_the_guide(name: str) -> None:
    assert f"`{name}`" in GUIDE


def test_every_status_is_in_the_guide() -> None:
    assert all(f"`{status}`" in GUIDE for status in (*view.STATUSES.values(), "pausing", "paused"))


def test_every_field_of_a_chat_that_is_not_honoured_is_in_the_guide() -> None:
    assert [name for name in set(ChatRequest.model_fields) - HONOURED if f"`{name}`" not in GUIDE] == []


def test_every_field_of_a_response_is_in_the_guide() -> None:
    section = GUIDE.partition("\n## Rollouts\n")[2]
    documented = set(re.findall(r"`([a-z_]+)", section))
    cache = {name for name in ResponsesRequest.model_fields if name.startswith("prompt_cache_")}
    assert set(ResponsesRequest.model_fields) - documented - cache - {"text"} == set()
    [refused] = [line for line in section.splitlines() if "`unsupported_parameter`" in line]
    assert [name for name in responses_request._REFUSED if f"`{name}`" not in refused] == []


def test_every_rejected_field_is_documented_as_rejected() -> None:
    chat = GUIDE.partition("\n## Rollouts\n")[0]
    [refused] = [line for line in chat.splitlines() if "`unsupported_parameter`" in line]
    assert [name for name in request._REFUSED if f"`{name}`" not in refused] == []
    [ignored] = [line for line in GUIDE.splitlines() if line.endswith("no effect on the response |")]
    elsewhere = {"modalities", "response_format"} | HONOURED | set(request._REFUSED)
    assert [name for name in set(ChatRequest.model_fields) - elsewhere if f"`{name}`" not in ignored] == []


@pytest.mark.parametrize(
    "name",
    [
        "stream_options.include_obfuscation",
        "tools[].function.strict",
        "pass_threshold",
        "image_tag",
        "output_audio",
    ],
)
def test_what_is_taken_and_has_no_effect_is_in_the_guide(name: str) -> None:
    assert lines_of(name)
    assert "include_obfuscation" not in StreamOptions.model_fields
    assert {"pass_threshold", "image_tag"} <= {
        *types.ScoreModel.model_fields,
        *types.PythonGrader.model_fields,
    }


def test_every_variable_of_a_sample_is_in_the_guide() -> None:
    assert [name for name in SAMPLE_FIELDS if f"| `{name}` |" not in GUIDE] == []


def test_flags_that_no_failure_sets_are_in_the_guide() -> None:
    code = inspect.getsource(response)
    flags = [name for name in GraderErrors.model_fields if not name.endswith(("_details", "_type"))]
    assert [name for name in flags if name not in code and f"`{name}`" not in GUIDE] == []


@pytest.mark.parametrize(
    ("name", "bound"),
    [(name, most(ChatRequest, name)) for name in ChatRequest.model_fields
     if name not in ("model", "top_p") and most(ChatRequest, name) is not None]
    + [
        ("eval_samples", most(Hyperparameters, "eval_samples")),
        ("model_sample", most(GraderRun, "model_sample")),
        ("model_sample", endpoints.LONGEST_SAMPLE),
        ("stop", request.MOST_STOPS),
        ("stop", request.MOST_STOP_CHARACTERS),
        ("messages", request.MOST_MESSAGES),
        ("messages", request.MOST_CHARACTERS),
        ("response_format", response_format.LARGEST),
        ("response_format", response_format.DEEPEST),
    ],
)  # fmt: skip
def test_every_bound_is_beside_its_field(name: str, bound: float) -> None:
    assert f"{bound:,.0f}" in lines_of(name)
