"""A trainer of an agent's job, and what runners and programs send."""

import time
from typing import Any

import httpx
from psycopg.types.json import Jsonb

from tests.backend.server import Backend, Trainer

LIMITS = {"max_model_calls": 4, "rollout_seconds": 60.0, "heartbeat_seconds": 30.0, "tries": 2}
HELLO = {"model": "policy", "messages": [{"role": "user", "content": "hello"}]}


def agent_trainer(backend: Backend) -> Trainer:
    """An attempt at a job with environment `agent`."""
    job = backend.create_job()
    environment = Jsonb({"type": "agent"})
    query = "UPDATE job SET resolved_spec = jsonb_set(resolved_spec, '{environment}', %s) WHERE id = %s"
    backend.sql(query, environment, job)
    trainer = backend.claim(job)
    trainer.start()
    return trainer


def offer(trainer: Trainer, count: int = 1, **limits: Any) -> list[str]:
    ids = [f"roll_{time.monotonic_ns()}{number}" for number in range(count)]
    task = {"item": {"answer": "2"}, "messages": HELLO["messages"], "split": "train", "step": 1}
    rollouts = [
        {"id": id, "task": task | {"prompt_no": 0, "sample_no": number}} for number, id in enumerate(ids)
    ]
    body = {"attempt": trainer.attempt, "limits": LIMITS | limits, "rollouts": rollouts}
    response = trainer.client.post("/rollouts", json=body)
    assert response.status_code == 204, response.text
    return ids


def take(backend: Backend, trainer: Trainer, most: int = 1, wait: float = 0.0) -> list[dict[str, Any]]:
    body = {"runner": "r", "max": most, "wait_seconds": wait}
    response = backend.api.post(f"/jobs/{trainer.claimed['job']}/rollouts/take", json=body)
    assert response.status_code == 200, response.text
    tasks: list[dict[str, Any]] = response.json()["data"]
    return tasks


def work(trainer: Trainer, wait: float = 20.0, **received: list[str]) -> dict[str, Any]:
    body = {"attempt": trainer.attempt, "wait_seconds": wait, **received}
    response = trainer.client.post("/model-calls/take", json=body)
    assert response.status_code == 200, response.text
    reply: dict[str, Any] = response.json()
    return reply


def answer(trainer: Trainer, call: str, text: str = "hi", **fields: Any) -> httpx.Response:
    message = {"role": "assistant", "content": text} | fields
    result = {"message": message, "finish_reason": "stop", "prompt_tokens": 3, "completion_tokens": 2}
    body = {"attempt": trainer.attempt, "answers": [{"id": call, "result": result}]}
    return trainer.client.post("/model-calls/answers", json=body)


def refuse(trainer: Trainer, call: str, code: str) -> None:
    error = {"message": "No.", "code": code, "type": "invalid_request_error", "hint": "Stop."}
    body = {"attempt": trainer.attempt, "answers": [{"id": call, "error": error}]}
    assert trainer.client.post("/model-calls/answers", json=body).status_code == 200
