"""Part `capture` of the proof: what a model call of a program costs beyond the engine.

A real server, runner and sampler; the engine answers at once from a table, so that all of a call's time is overhead:
HTTP, the queue in PostgreSQL, the graph, and the wait for calls that arrive together.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import httpx
from psycopg.types.json import Jsonb

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from common.backend import KEY, Backend, ClaimedJob  # noqa: E402

from benchmarks.agents.programs import THINK_SECONDS  # noqa: E402
from reinforge.client import Reinforge  # noqa: E402
from reinforge.environment_spec import AgentSpec  # noqa: E402
from reinforge.runner.runner import RolloutRunner  # noqa: E402
from tests.worker.rollout.agent_programs import CONTEXT, END, Engine, Template  # noqa: E402
from worker.environment.agent.client import BackendAccess, WorkerApiExchange  # noqa: E402
from worker.environment.agent.texts import ModelCallTexts  # noqa: E402
from worker.environment.base import Conversation, Prompt  # noqa: E402
from worker.rollout.agents import AgentSampler  # noqa: E402
from worker.rollout.conversations import Round  # noqa: E402
from worker.rollout.engine import RolloutEngine, Sampling  # noqa: E402
from worker.rollout.noise import Stream  # noqa: E402

AGENTS = 16
P50_MILLISECONDS, P95_MILLISECONDS = 15.0, 50.0


def measure(rollouts: int = 128) -> dict[str, Any]:
    with Backend() as backend, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "seconds.jsonl"
        os.environ["MEASURED"] = str(file)
        job = agent_job(backend)
        runner = RunnerThread(backend, job, "benchmarks.agents.programs:measured", AGENTS)
        conversations = asyncio.run(sampled(backend, job, Engine(), rollouts))
        end(backend, job)
        runner.join(60)
        seconds = [value for line in file.read_text().splitlines() for value in json.loads(line)]
    milliseconds = sorted(1000 * value for value in seconds)
    return {
        "agents": AGENTS,
        "think_seconds": THINK_SECONDS,
        "calls": len(milliseconds),
        "captured_calls": sum(len(conversation.turns) for conversation in conversations),
        "milliseconds": {
            f"p{share}": round(milliseconds[len(milliseconds) * share // 100], 1)
            for share in (50, 90, 95, 99)
        },
        "mean": round(statistics.mean(milliseconds), 1),
    }


def is_right(result: dict[str, Any]) -> bool:
    times = result["milliseconds"]
    complete = result["calls"] == result["captured_calls"]
    return complete and times["p50"] <= P50_MILLISECONDS and times["p95"] <= P95_MILLISECONDS


def agent_job(backend: Backend) -> ClaimedJob:
    """A running job with environment `agent`; this process is its trainer."""
    job = backend.start_job(backend.add_dataset())
    threading.Thread(target=_renew, args=(backend, job), daemon=True).start()
    with backend.connect() as connection:
        connection.execute(
            "UPDATE job SET resolved_spec = jsonb_set(resolved_spec, '{environment}', %s) WHERE id = %s",
            (Jsonb({"type": "agent"}), job.id),
        )
    return job


def _renew(backend: Backend, job: ClaimedJob) -> None:
    with suppress(httpx.TransportError), backend.client(job.token, "/worker/v1") as api:
        while api.post(f"/jobs/{job.id}/heartbeat", json={"attempt": job.attempt}).status_code == 200:
            time.sleep(5)


def end(backend: Backend, job: ClaimedJob) -> None:
    """Cancel the job and end its attempt, so that runners end, too."""
    backend.api.post(f"/jobs/{job.id}/cancel")
    backend.post(job, [{"kind": "ended", "step": 1, "outcome": "cancelled"}])


class RunnerThread(threading.Thread):
    def __init__(self, backend: Backend, job: ClaimedJob, target: str, concurrency: int) -> None:
        super().__init__(daemon=True)
        self.client = Reinforge(backend.url, KEY)
        self.runner = RolloutRunner(self.client, job.id, target, concurrency=concurrency)
        self.start()

    def run(self) -> None:
        with self.client:
            self.runner.run()


async def sampled(backend: Backend, job: ClaimedJob, engine: Engine, rollouts: int) -> list[Conversation]:
    """Conversations of one step: so many rows, each sampled once."""
    access = BackendAccess(backend.url, job.id, job.attempt, job.token)
    sampler = AgentSampler(
        cast(RolloutEngine, engine),
        WorkerApiExchange(access),
        ModelCallTexts(Template(), (END,), CONTEXT),
        AgentSpec(type="agent"),
        context=CONTEXT,
        most=1000,
        warn=print,
    )
    task = [{"role": "user", "content": "Task"}]
    rows = [Prompt(n, {"n": n}, task, "Task", (7,), f"p{n}") for n in range(rollouts)]
    step = Round("policy", 0, 9, Stream.TRAIN, 1, 1, Sampling(1000, 1.0, stop_ids=(END,)))
    try:
        return [c async for _, group in sampler.groups(rows, step, lambda: None) for c in group]
    finally:
        await sampler.close()


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
