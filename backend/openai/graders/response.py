"""Grading results in OpenAI's format."""

from collections.abc import Iterable, Mapping
from typing import Any

from reinforge.grading.templates import NOT_JSON
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.openai_graders import GraderErrors, GraderMetadata, GraderRunResult, TokenUsage

_REFUSALS = {
    "judge_refusal": "model_grader_refusal_error",
    "judge_malformed": "model_grader_parse_error",
    "judge_too_large": "model_grader_parse_error",
}


def answer(
    name: str, type: str, result: RewardResult, seconds: float, *, truncated: bool = False
) -> GraderRunResult:
    reward = result.value if result.value is not None else 0.0
    parts = result.parts if type == "multi" else {}
    usage = {judge: _tokens(counts) for judge, counts in result.usage.items()}
    return GraderRunResult(
        reward=reward,
        metadata=GraderMetadata(
            name=name,
            type=type,
            errors=errors(result).model_copy(update={"truncated_observation_error": truncated}),
            execution_time=seconds,
            scores=parts or {name: reward},
            token_usage=_sum(usage.values()) if usage else None,
            sampled_model_name=None,
        ),
        sub_rewards=parts,
        model_grader_token_usage_per_model=usage,
    )


def failed(status: str, code: str | None, message: str) -> RewardResult:
    return RewardResult(name="", status=status, value=None, code=code, message=message)


def errors(result: RewardResult) -> GraderErrors:
    flags: dict[str, Any] = {}
    message = result.message
    if result.status == "ok":
        return GraderErrors()
    if result.status == "not_applicable":
        flags = {"unresponsive_reward_error": True}
    elif result.code == "invalid_variable":
        flags = {"invalid_variable_error": True, "invalid_variable_error_details": message}
        if NOT_JSON in (message or ""):  # a member of `sample.output_json` was asked for
            flags |= {"sample_parse_error": True, "sample_parse_error_details": message}
    elif result.code == "formula_error":
        flags = {"formula_parse_error": True}
    elif result.code == "judge_out_of_tokens":
        flags = {"model_grader_exceeded_max_tokens_error": True}
    elif result.status == "judge_error":
        flag = _REFUSALS.get(result.code or "", "model_grader_server_error")
        flags = {flag: True, f"{flag}_details": message}
    elif result.code == "endpoint_refused":
        flags = {"endpoint_grader_safety_check_error": True}
    elif result.status == "endpoint_error":
        flags = {"endpoint_grader_server_error": True, "endpoint_grader_server_error_details": message}
    elif result.status == "sandbox_error":
        flags = {"python_grader_server_error": True, "python_grader_server_error_type": result.status}
    elif result.status == "other_error":
        flags = {"other_error": True}
    else:  # what code does in a sandbox, and that it does not load
        details = f"{result.status}: {message}" if message else result.status
        flags = {"python_grader_runtime_error": True, "python_grader_runtime_error_details": details}
    return GraderErrors(**flags)


def _tokens(counts: Mapping[str, float]) -> TokenUsage:
    prompt_tokens, completion_tokens = (
        int(counts.get("prompt_tokens", 0)),
        int(counts.get("completion_tokens", 0)),
    )
    return TokenUsage(
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        total_tokens=prompt_tokens + completion_tokens,
        cached_tokens=int(counts.get("cached_tokens", 0)),
    )


def _sum(usages: Iterable[TokenUsage]) -> TokenUsage:
    counts = [usage.model_dump() for usage in usages]
    return TokenUsage(**{name: sum(count[name] for count in counts) for name in counts[0]})
