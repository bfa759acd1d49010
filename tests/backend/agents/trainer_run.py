"""The trainer of an agent's job as a process of its own."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from reinforge.records import RewardCode, RunManifest
from tests.backend.server import Backend, Trainer
from tests.support.small_jobs import small_spec, write_rows
from worker.rewards.secrets import Secrets

REWARD = "def grade(sample, item):\n    return sample['environment_reward']\n"
ROWS = [{"prompt": f"row {n}"} for n in range(12)]
SPEC: dict[str, Any] = {
    "environment": {"type": "agent", "max_model_calls": 4},
    "rollout__max_completion_tokens": 120,
    "limits__steps": 2,
    "optimizer__learning_rate": 1e-5,
    "evaluation__rows": 0,
    "data__held_out_rows": 0,
    "rollout__prompts_per_step": 6,
    "rollout__completions_per_prompt": 2,
}


class TrainerRun:
    """The trainer process of an attempt."""

    def __init__(
        self,
        folder: Path,
        backend: Backend,
        attempt: Trainer,
        model: Path,
        socket: Path,
        rows: Sequence[dict[str, Any]] = ROWS,
        **changes: Any,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        reward = folder / "reward.py"
        reward.write_text(REWARD, encoding="utf-8")
        dataset = write_rows(folder / "rows.jsonl", list(rows))
        spec = small_spec(**SPEC | changes)
        manifest = RunManifest(
            job=attempt.claimed["job"],
            attempt=attempt.attempt,
            spec=spec.model_dump(mode="json"),
            model_path=str(model),
            dataset_path=str(dataset),
            rewards=[RewardCode(name="low", path=str(reward), revision="rew_1@1")],
            sandbox_socket=str(socket),
        )
        (folder / "run.json").write_text(manifest.model_dump_json(), encoding="utf-8")
        secrets = Secrets(backend_url=backend.url, job_token=attempt.claimed["job_token"])
        command = [sys.executable, "-m", "worker.trainer.main", "--run", str(folder), "--offline"]
        self._process = subprocess.Popen(
            command,
            env=os.environ | secrets.environment() | {"PYTHONPATH": ""},  # what a program needs is not for it
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def records(self, timeout: float = 240) -> list[dict[str, Any]]:
        _, errors = self._process.communicate(timeout=timeout)
        assert self._process.returncode == 0, errors[-3000:]
        return [json.loads(line) for line in (self.folder / "records.jsonl").read_bytes().splitlines()]

    def rows(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        blob = self.folder / "blobs" / record["blob"]["sha256"]
        rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(blob.read_bytes())).to_pylist()
        return rows

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
