"""Part `crowd` of the proof: 128 programs at once; a tenth each dies, sends every call again, rewrites its history.

A real server, runner and sampler; the engine never samples a token twice, so that what was trained can be counted.
"""

import asyncio
import json
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.agents.capture import Backend, RunnerThread, agent_job, end, sampled
from benchmarks.agents.programs import kind_of
from tests.worker.rollout.agent_programs import END, FIRST_SAMPLED, Engine
from worker.environment.base import Conversation

AGENTS = 128


def measure(agents: int = AGENTS) -> dict[str, Any]:
    engine = Engine()
    with Backend() as backend, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "received.jsonl"
        os.environ["MEASURED"] = str(file)
        job = agent_job(backend)
        runner = RunnerThread(backend, job, "benchmarks.agents.programs:crowd", agents)
        rollouts = asyncio.run(sampled(backend, job, engine, agents))
        end(backend, job)
        runner.join(120)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        left = _rows_left(backend)
    return _counts(rollouts, engine, {line["n"]: line["received"] for line in lines}) | {"rows_left": left}


def is_right(result: dict[str, Any]) -> bool:
    kinds, agents = result["kinds"], result["agents"]
    return (
        result["ended"] == agents
        and result["failed"] == {"agent_error": kinds["dies"]}
        and result["forked"] == {"history_rewritten": kinds["rewrites"]}
        and not any(
            result[name]
            for name in ("doubles", "foreign", "trained_not_received", "received_not_trained", "rows_left")
        )
    )


def _counts(rollouts: list[Conversation], engine: Engine, received: dict[int, list[str]]) -> dict[str, Any]:
    ids_of = {f"answer {ids[0]}": ids for _, ids in engine.sampled}
    good = [rollout for rollout in rollouts if rollout.failure is None]
    trained = Counter(id for rollout in good for id in _policy_ids(rollout))
    received_ids = Counter(
        id for texts in received.values() for text in texts for id in ids_of[text] if id != END
    )
    reasons = [row.branch_reason for rollout in good for row in (*rollout.others, rollout)]
    return {
        "agents": len(rollouts),
        "kinds": dict(Counter(kind_of({"item": rollout.prompt.item}) for rollout in rollouts)),
        "ended": sum(rollout.finish_reason is not None for rollout in rollouts),
        "failed": dict(Counter(rollout.failure for rollout in rollouts if rollout.failure)),
        "forked": dict(Counter(reason for reason in reasons if reason not in (None, "first"))),
        "calls": len(engine.sampled),
        "trained_tokens": trained.total(),
        "doubles": trained.total() - len(trained),
        "foreign": sum(_foreign(rollout) for rollout in good),
        "trained_not_received": (trained - received_ids).total(),
        "received_not_trained": (received_ids - trained).total(),
    }


def _policy_ids(rollout: Conversation) -> list[int]:
    rows = (*rollout.others, rollout)
    ids = [id for row in rows for part in row.segments if part.by == "policy" for id in part.token_ids]
    return [id for id in ids if id != END]


def _foreign(rollout: Conversation) -> int:
    """Tokens that are trained and were not sampled, or sampled in this conversation and are masked."""
    rows = (*rollout.others, rollout)
    parts = [(part.by == "policy", id) for row in rows for part in row.segments for id in part.token_ids]
    return sum(policy != (id >= FIRST_SAMPLED) for policy, id in parts if id != END)


def _rows_left(backend: Backend) -> int:
    with backend.connect() as connection:
        query = "SELECT (SELECT count(*) FROM agent_rollout) + (SELECT count(*) FROM model_call)"
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
