"""OpenAI's shapes of grader runs and validation. A failure of the grader is a flag in an answer with status
200.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from reinforge.schemas.common import Response


class Wire(BaseModel):
    """Accepts unknown fields, which OpenAI's clients may send."""

    model_config = ConfigDict(extra="ignore")


class GraderRun(Wire):
    grader: dict[str, Any]
    model_sample: str = Field(max_length=1_048_576)
    item: dict[str, Any] = {}


class GraderValidate(Wire):
    grader: dict[str, Any]


class GraderErrors(Response):
    formula_parse_error: bool = False
    sample_parse_error: bool = False
    sample_parse_error_details: str | None = None
    truncated_observation_error: bool = False
    unresponsive_reward_error: bool = False
    invalid_variable_error: bool = False
    invalid_variable_error_details: str | None = None
    other_error: bool = False
    python_grader_server_error: bool = False
    python_grader_server_error_type: str | None = None
    python_grader_runtime_error: bool = False
    python_grader_runtime_error_details: str | None = None
    model_grader_server_error: bool = False
    model_grader_server_error_details: str | None = None
    model_grader_refusal_error: bool = False
    model_grader_refusal_error_details: str | None = None
    model_grader_parse_error: bool = False
    model_grader_parse_error_details: str | None = None
    model_grader_exceeded_max_tokens_error: bool = False
    endpoint_grader_internal_error: bool = False
    endpoint_grader_internal_error_details: str | None = None
    endpoint_grader_server_error: bool = False
    endpoint_grader_server_error_details: str | None = None
    endpoint_grader_safety_check_error: bool = False


class TokenUsage(Response):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int


class GraderMetadata(Response):
    name: str
    type: str
    errors: GraderErrors
    execution_time: float
    """Seconds."""
    scores: dict[str, float]
    token_usage: TokenUsage | None
    sampled_model_name: str | None


class GraderRunResult(Response):
    reward: float
    metadata: GraderMetadata
    sub_rewards: dict[str, float]
    model_grader_token_usage_per_model: dict[str, TokenUsage]


class GraderValidated(Response):
    grader: dict[str, Any]
