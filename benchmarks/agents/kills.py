"""Part `kills` of the proof: a job with tools, killed at a random moment and resumed, ends with the same adapter.

Real trainer processes and a real sandbox. A kill -9 hits the trainer and its forks at once, anywhere between the first
step's first turn and the end. The next attempt begins with the last resume state, if there was one.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reinforge.offline import jobfile
from reinforge.offline.train import prepare, sandbox
from reinforge.spec import JobSpec

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "calculator-agent" / "job.yaml"
KILLS, STEPS = 20, 6
_LIMIT = 300.0


@dataclass(frozen=True)
class Attempt:
    """What a trainer left, killed or not."""

    folder: Path
    begin: float
    """Seconds from its start to the first step."""
    seconds: float

    @property
    def records(self) -> list[dict[str, Any]]:
        lines = (self.folder / "records.jsonl").read_bytes().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def blob(self, kind: str) -> Path | None:
        """The newest of a kind."""
        blobs = [record["blob"]["sha256"] for record in self.records if record["kind"] == kind]
        return self.folder / "blobs" / blobs[-1] if blobs else None

    @property
    def adapter(self) -> str | None:
        """SHA-256 of the final checkpoint."""
        finals = [r["blob"]["sha256"] for r in self.records if r["kind"] == "checkpoint_saved" and r["final"]]
        return finals[-1] if finals else None


def measure(kills: int = KILLS) -> dict[str, Any]:
    chance, spec = random.Random(0), job()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        socket = folder / "sandbox.sock"
        with sandbox(socket, folder):
            first, second = (attempt(spec, folder / part, socket) for part in ("first", "second"))
            rows = [_killed(spec, folder / f"{number}", socket, first, chance) for number in range(kills)]
        return {
            "steps": STEPS,
            "equal_without_kills": first.adapter is not None and first.adapter == second.adapter,
            "kills": kills,
            "equal": sum(row["adapter"] == first.adapter for row in rows),
            "resumed_after_step": [row["step"] for row in rows],
            "killed_at_seconds": [row["at"] for row in rows],
            "whole_seconds": round(first.seconds, 1),
        }


def is_right(result: dict[str, Any]) -> bool:
    return bool(result["equal_without_kills"]) and result["equal"] == result["kills"]


def job() -> JobSpec:
    """The example with a checkpoint after every step, and without evaluations."""
    raw = jobfile.load(EXAMPLE).model_dump(mode="json", exclude_unset=True)
    raw["rollout"] |= {"prompts_per_step": 4, "completions_per_prompt": 8}
    raw |= {"evaluation": {"rows": 0, "every_steps": 0}, "limits": {"steps": STEPS, "checkpoint_every": 1}}
    return JobSpec.model_validate(raw)


def attempt(
    spec: JobSpec,
    folder: Path,
    socket: Path,
    *,
    state: Path | None = None,
    kill_after: float | None = None,
) -> Attempt:
    """A trainer, from `state` if that is given. kill_after: seconds after its first step began."""
    manifest = prepare(spec, folder, socket)
    if state is not None:
        manifest = manifest.model_copy(update={"resume_path": str(state), "attempt": 2})
    (folder / "run.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    command = [sys.executable, "-m", "worker.trainer.main", "--run", str(folder), "--offline"]
    began = time.monotonic()
    with (folder / "output.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            if state is None:
                _until_started(folder, process)
            begin = time.monotonic() - began
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LIMIT if kill_after is None else kill_after)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return Attempt(folder, begin, time.monotonic() - began)


def _killed(
    spec: JobSpec, folder: Path, socket: Path, whole: Attempt, chance: random.Random
) -> dict[str, Any]:
    """A kill at a random moment of the steps, and the attempt after it."""
    at = chance.uniform(0, whole.seconds - whole.begin)
    killed = attempt(spec, folder / "killed", socket, kill_after=at)
    if killed.adapter is not None:  # it was faster than the first, and had ended
        return {"adapter": killed.adapter, "step": STEPS, "at": round(at, 1)}
    state = killed.blob("resume_state_saved")
    rest = attempt(spec, folder / "rest", socket, state=state)
    saved = [record["step"] for record in killed.records if record["kind"] == "resume_state_saved"]
    return {"adapter": rest.adapter, "step": saved[-1] if saved else 0, "at": round(at, 1)}


def _until_started(folder: Path, process: subprocess.Popen[bytes]) -> None:
    records, deadline = folder / "records.jsonl", time.monotonic() + _LIMIT
    while not (records.exists() and b'"kind":"started"' in records.read_bytes().replace(b" ", b"")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError((folder / "output.log").read_text(errors="replace")[-2000:])
        time.sleep(0.05)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
