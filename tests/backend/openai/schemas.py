"""What OpenAI's published schema (openapi.json 2.3.0) requires of each object, written down as JSON Schemas of our own.

Keys that the schema requires are required here, with its types. Where the service is known to send more than its
schema says (the status `paused`, extra keys), that is allowed.
"""

from typing import Any

from jsonschema import Draft202012Validator

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
SECONDS: Schema = {"type": "integer", "minimum": 1_000_000_000, "maximum": 9_999_999_999}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def an_object(required: Schema, optional: Schema | None = None) -> Schema:
    properties = required | (optional or {})
    return {"type": "object", "required": list(required), "properties": properties}


def constant(value: Any) -> Schema:
    return {"const": value}


ERROR = an_object(
    {"error": an_object({"message": TEXT, "type": TEXT, "param": or_null(TEXT), "code": or_null(TEXT)})}
)
DELETED = an_object({"id": TEXT, "object": TEXT, "deleted": constant(True)})
LIST = an_object({"object": constant("list"), "data": {"type": "array"}, "has_more": {"type": "boolean"}})

FILE = an_object(
    {
        "id": {"type": "string", "pattern": "^file-"},
        "object": constant("file"),
        "bytes": {"type": "integer"},
        "created_at": SECONDS,
        "filename": TEXT,
        "purpose": {
            "enum": [
                "assistants", "assistants_output", "batch", "batch_output", "fine-tune", "fine-tune-results",
                "vision", "user_data", "evals",
            ]
        },
        "status": {"enum": ["uploaded", "processed", "error"]},
    },
    {"expires_at": or_null(SECONDS), "status_details": or_null(TEXT)},
)  # fmt: skip

UPLOAD = an_object(
    {
        "id": {"type": "string", "pattern": "^upload_"},
        "object": constant("upload"),
        "bytes": {"type": "integer"},
        "created_at": SECONDS,
        "expires_at": SECONDS,
        "filename": TEXT,
        "purpose": TEXT,
        "status": {"enum": ["pending", "completed", "cancelled", "expired"]},
    },
    {"file": or_null(FILE)},
)
UPLOAD_PART = an_object(
    {"id": {"type": "string", "pattern": "^part_"}, "object": constant("upload.part"), "created_at": SECONDS,
     "upload_id": TEXT}
)  # fmt: skip

_NUMBER_OR_AUTO: Schema = {"anyOf": [{"type": "number"}, constant("auto")]}
HYPERPARAMETERS: Schema = {
    "type": "object",
    "properties": {
        "batch_size": _NUMBER_OR_AUTO,
        "n_epochs": _NUMBER_OR_AUTO,
        "learning_rate_multiplier": _NUMBER_OR_AUTO,
        "compute_multiplier": _NUMBER_OR_AUTO,
        "eval_interval": _NUMBER_OR_AUTO,
        "eval_samples": _NUMBER_OR_AUTO,
        "reasoning_effort": {"enum": ["default", "low", "medium", "high"]},
    },
}
JOB = an_object(
    {
        "id": {"type": "string", "pattern": "^ftjob-"},
        "object": constant("fine_tuning.job"),
        "created_at": SECONDS,
        "error": or_null(an_object({"code": TEXT, "message": TEXT, "param": or_null(TEXT)})),
        "fine_tuned_model": or_null({"type": "string", "pattern": "^ft:[^:/]+:[^:/]*:[^:/]*:[0-9a-z]{8}$"}),
        "finished_at": or_null(SECONDS),
        "hyperparameters": or_null({"type": "object"}),
        "model": TEXT,
        "organization_id": TEXT,
        "result_files": {"type": "array", "items": TEXT},
        "seed": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        "status": {
            "enum": [
                "validating_files", "queued", "running", "succeeded", "failed", "cancelled", "paused", "pausing"
            ]
        },
        "trained_tokens": or_null({"type": "integer"}),
        "training_file": TEXT,
        "validation_file": or_null(TEXT),
    },
    {
        "estimated_finish": or_null(SECONDS),
        "integrations": or_null({"type": "array"}),
        "metadata": or_null({"type": "object", "additionalProperties": TEXT}),
        "method": an_object(
            {
                "type": constant("reinforcement"),
                "reinforcement": an_object(
                    {"grader": an_object({"type": TEXT})}, {"hyperparameters": HYPERPARAMETERS}
                ),
            }
        ),
    },
)  # fmt: skip

EVENT = an_object(
    {
        "id": {"type": "string", "pattern": "^ftevent-"},
        "object": constant("fine_tuning.job.event"),
        "created_at": SECONDS,
        "level": {"enum": ["info", "warn", "error"]},
        "message": TEXT,
    },
    {"type": {"enum": ["message", "metrics"]}, "data": or_null({"type": "object"})},
)

CHECKPOINT = an_object(
    {
        "id": {"type": "string", "pattern": "^ftckpt_"},
        "object": constant("fine_tuning.job.checkpoint"),
        "created_at": SECONDS,
        "fine_tuned_model_checkpoint": {"type": "string", "pattern": "^ft:.*:ckpt-step-[0-9]+$"},
        "fine_tuning_job_id": {"type": "string", "pattern": "^ftjob-"},
        "step_number": {"type": "integer"},
        "metrics": {
            "type": "object",
            "properties": {"step": {"type": "number"}, "train_loss": {"type": "number"}},
        },
    }
)

PERMISSION = an_object(
    {"id": TEXT, "object": constant("checkpoint.permission"), "created_at": SECONDS, "project_id": TEXT}
)
MODEL = an_object({"id": TEXT, "object": constant("model"), "created": SECONDS, "owned_by": TEXT})

_FLAGS = (
    "formula_parse_error", "sample_parse_error", "truncated_observation_error", "unresponsive_reward_error",
    "invalid_variable_error", "other_error", "python_grader_server_error", "python_grader_runtime_error",
    "model_grader_server_error", "model_grader_refusal_error", "model_grader_parse_error",
)  # fmt: skip
_DETAILS = (
    "python_grader_server_error_type", "python_grader_runtime_error_details", "model_grader_server_error_details",
)  # fmt: skip
GRADER_RUN = an_object(
    {
        "reward": {"type": "number"},
        "metadata": an_object(
            {
                "name": TEXT,
                "type": TEXT,
                "errors": an_object(
                    {name: {"type": "boolean"} for name in _FLAGS}
                    | {name: or_null(TEXT) for name in _DETAILS}
                ),
                "execution_time": {"type": "number"},
                "scores": {"type": "object"},
                "token_usage": or_null({"type": ["integer", "object"]}),
                "sampled_model_name": or_null(TEXT),
            }
        ),
        "sub_rewards": {"type": "object"},
        "model_grader_token_usage_per_model": {"type": "object"},
    }
)
CHAT_COMPLETION = an_object(
    {
        "id": {"type": "string", "pattern": "^chatcmpl-"},
        "object": constant("chat.completion"),
        "created": SECONDS,
        "model": TEXT,
        "choices": {
            "type": "array",
            "minItems": 1,
            "items": an_object(
                {
                    "index": {"type": "integer"},
                    "message": an_object(
                        {"role": constant("assistant"), "content": or_null(TEXT), "refusal": or_null(TEXT)}
                    ),
                    "logprobs": or_null({"type": "object"}),
                    "finish_reason": {
                        "enum": ["stop", "length", "tool_calls", "content_filter", "function_call"]
                    },
                }
            ),
        },
    },
    {
        "usage": an_object(
            {name: {"type": "integer"} for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
        )
    },
)


def checked(value: Any, schema: Schema) -> Any:
    """The value, if it is as the schema says; an AssertionError with every fault otherwise."""
    faults = [
        f"{'.'.join(map(str, error.path))}: {error.message}"
        for error in Draft202012Validator(schema).iter_errors(value)
    ]
    assert not faults, "; ".join(faults)
    return value


def listed(value: Any, schema: Schema) -> list[Any]:
    """The objects of a list, each as the schema says; `has_more` may be missing where lists are not paged."""
    return [checked(item, schema) for item in checked(value, LIST)["data"]]
