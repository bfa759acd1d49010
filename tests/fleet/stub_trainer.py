"""A trainer that trains nothing, over the real pipe: quick, and what it makes tells whether a step was lost or doubled.

Each step hashes the one before into a number, which is its reward; every second step makes a resume state; the adapter
is the last hash. `metadata.pace` is the seconds per step. Without it the job is a real one: become the real trainer.
With `metadata.hang` it says nothing more once it is in this phase of its third step (or loads), in its first
`metadata.hangs` attempts.
"""

import argparse
import faulthandler
import hashlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

STATE_EVERY = 2
BEFORE_STEPS = ("loading", "starting_engine")
WITH_PROMPTS = ("evaluating", "generating", "scoring")
HANGS_ON = 41


def first_hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def next_hash(before: str, step: int) -> str:
    return hashlib.sha256(f"{before} {step}".encode()).hexdigest()


def reward(state: str) -> float:
    return int(state[:8], 16) / 2**32


class Stub:
    def __init__(self, run: Path) -> None:
        self.run = run
        self.manifest = json.loads((run / "run.json").read_text())
        self.pipe = os.fdopen(int(os.environ["REINFORGE_RECORD_FD"]), "w")
        self.sequence = self.manifest["first_sequence"]
        self.step, self.state = 0, first_hash(self.manifest["spec"]["name"])
        if self.manifest["resume_path"] is not None:
            saved = json.loads(Path(self.manifest["resume_path"]).read_text())
            self.step, self.state = saved["step"], saved["state"]

    def record(self, **fields: object) -> None:
        self.pipe.write(json.dumps({"sequence": self.sequence, "ts": time.time(), **fields}) + "\n")
        self.pipe.flush()
        self.sequence += 1

    def enter(self, phase: str) -> None:
        """Say that the phase of the next step has begun, and perhaps never anything again."""
        step = 0 if phase in BEFORE_STEPS else self.step + 1
        progress = {"done": 1, "total": 3, "rows": [HANGS_ON]} if phase in WITH_PROMPTS else {}
        self.record(kind="phase", phase=phase, step=step, **progress)
        metadata = self.manifest["spec"]["metadata"]
        hangs = metadata.get("hang") == phase and self.manifest["attempt"] <= int(metadata["hangs"])
        if hangs and step in (0, STATE_EVERY + 1):
            time.sleep(600)

    def blob(self, data: bytes) -> dict[str, object]:
        sha256 = hashlib.sha256(data).hexdigest()
        (self.run / "blobs" / sha256).write_bytes(data)
        return {"sha256": sha256, "bytes": len(data)}

    def train(self, steps: int, pace: float) -> None:
        for phase in BEFORE_STEPS:
            self.enter(phase)
        self.record(kind="started", step=self.step, steps=steps)
        while self.step < steps:
            for phase in ("evaluating", "generating", "scoring", "updating", "saving"):
                self.enter(phase)
            time.sleep(pace)
            self.step += 1
            self.state = next_hash(self.state, self.step)
            self.record(kind="step_metrics", step=self.step, values={"reward/mean": reward(self.state)})
            if self.step % STATE_EVERY == 0 and self.step < steps:
                blob = self.blob(json.dumps({"step": self.step, "state": self.state}).encode())
                self.record(kind="resume_state_saved", step=self.step, blob=blob)
        blob = self.blob(self.state.encode())
        self.record(kind="checkpoint_saved", step=steps, blob=blob, held_out_reward=None, final=True)
        self.record(kind="ended", outcome="succeeded", step=steps)
        self.pipe.close()


def leave_with_the_supervisor() -> None:
    for _ in sys.stdin:
        pass
    os._exit(7)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=Path, required=True)
    run = parser.parse_args().run
    spec = json.loads((run / "run.json").read_text())["spec"]
    if "pace" not in spec["metadata"]:
        os.execv(sys.executable, [sys.executable, "-m", "worker.trainer.main", "--run", str(run)])
    faulthandler.register(signal.SIGUSR1)
    threading.Thread(target=leave_with_the_supervisor, daemon=True).start()
    Stub(run).train(spec["limits"]["steps"], float(spec["metadata"]["pace"]))


if __name__ == "__main__":
    main()
