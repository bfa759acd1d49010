"""The fixed bodies of the mock API: one job of every state, a dataset, a reward, a model, an adapter."""

import time
from datetime import UTC, datetime
from typing import Any

from fastapi.responses import JSONResponse
from mock_data import GROUP, PROMPTS, SOURCE, TRACEBACK, MockJob

from reinforge.spec import JobSpec

SPEC: dict[str, Any] = {
    "name": "Show your work on additions",
    "model": "starter-arith",
    "data": {"dataset": "file-additions", "held_out_rows": 64},
    "rewards": [{"type": "python", "name": "correct", "reward": "rew_demo", "revision": 3}],
    "algorithm": {"preset": "grpo"},
    "rollout": {"prompts_per_step": PROMPTS, "completions_per_prompt": GROUP, "max_completion_tokens": 56},
    "optimizer": {"learning_rate": 2e-4},
    "limits": {"steps": 60},
}
NOW = time.time()
JOBS = {
    job.id: job
    for job in [
        MockJob("ftjob-running", "Show your work on additions", "running", started=NOW - 68),
        MockJob("ftjob-queued", "Longer answers", "queued"),
        MockJob(
            "ftjob-paused",
            "Typo in the reward",
            "paused",
            done=3,
            reason="reward_errors",
            started=NOW - 700,
            error={
                "code": "reward_errors",
                "message": "The reward failed on all 128 completions of step 4.",
                "hint": "Correct the reward and start a new job.",
                "traceback": TRACEBACK,
            },
        ),
        MockJob(
            "ftjob-done",
            "Additions, learning rate 2e-4",
            "succeeded",
            done=60,
            started=NOW - 7200,
            ended=NOW - 7110,
        ),
        MockJob(
            "ftjob-failed",
            "Too large for this machine",
            "failed",
            done=12,
            reason="out_of_memory",
            started=NOW - 9000,
            ended=NOW - 8980,
            error={
                "code": "out_of_memory",
                "message": "The trainer was ended because the machine ran out of memory.",
                "hint": "Use fewer completions per step or a shorter maximum length.",
                "traceback": None,
            },
        ),
        MockJob("ftjob-cancelled", "First try", "cancelled", done=22, started=NOW - 99000, ended=NOW - 98950),
    ]
}
STARTED = datetime.now(UTC).isoformat()
DATASETS = {
    "file-additions": {
        "object": "dataset",
        "id": "file-additions",
        "name": "additions",
        "filename": "additions.jsonl",
        "format": "jsonl",
        "bytes": 41_233,
        "rows": 400,
        "sha256": "ab" * 32,
        "warnings": ["3 rows appear twice."],
        "columns": [
            {"name": "messages", "type": "list", "nulls": 0, "example": '[{"role": "user", …}]'},
            {"name": "answer", "type": "string", "nulls": 0, "example": "120"},
        ],
        "preview": [],
        "created_at": STARTED,
        "jobs": 6,
    }
}
REWARDS = {
    "rew_demo": {
        "object": "reward",
        "id": "rew_demo",
        "name": "correct",
        "description": "Accuracy of the sum.",
        "revision": 2,
        "entry": "grade",
        "granularity": "sample",
        "created_at": STARTED,
        "updated_at": STARTED,
        "revisions": [
            {
                "revision": n,
                "source": SOURCE if n == 2 else SOURCE.replace("compared", "checked"),
                "sha256": "cd" * 32,
                "created_at": STARTED,
                "entries": [{"name": "grade", "spelling": "openai", "line": 6}],
            }
            for n in (2, 1)
        ],
    }
}
MODEL = {
    "object": "base_model",
    "id": "starter-arith",
    "source": "builtin:starter-arith",
    "status": "ready",
    "architecture": "Qwen3ForCausalLM",
    "parameters": 1_050_000,
    "context_length": 256,
    "has_chat_template": True,
    "vocabulary": 96,
    "lora_targets": ["q_proj", "v_proj"],
    "bytes": 3_800_000,
    "licence": "apache-2.0",
    "sha256": "ef" * 32,
    "created_at": STARTED,
}
ADAPTER = {
    "object": "adapter",
    "id": "adp_demo",
    "name": "Additions, learning rate 2e-4",
    "job": "ftjob-done",
    "checkpoint": "ftckpt_60",
    "step": 60,
    "model": "starter-arith",
    "bytes": 312_000,
    "sha256": "aa" * 32,
    "held_out_reward": 0.953,
    "created_at": STARTED,
}


def page(rows: list[Any]) -> dict[str, Any]:
    return {"object": "list", "data": rows, "has_more": False, "next_cursor": None}


def refuse(status: int, message: str, **more: Any) -> JSONResponse:
    error = {
        "message": message,
        "type": "invalid_request_error",
        "code": "invalid_input",
        "param": None,
        "hint": None,
        "errors": [],
        "request_id": "req_mock",
    }
    return JSONResponse({"error": error | more}, status)


def detail(job: MockJob) -> dict[str, Any]:
    return {
        **job.body(),
        "spec": SPEC,
        "resolved_spec": JobSpec.model_validate(SPEC).resolved().model_dump(),
        "facts": {"parameters": 1_050_000, "trainable_parameters": 78_000, "device": "cpu"},
        "warnings": [],
    }
