"""A trainer that trains nothing, over the real pipe: quick, and what it makes tells whether a step was lost or doubled.

Each step hashes the one before into a number, which is its reward; every second step makes a resume state; the adapter
is the last hash. `metadata.pace` is the seconds per step. Without it the job is a real one: become the real trainer.
"""

import argparse
import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path

STATE_EVERY = 2


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
            kept = json.loads(Path(self.manifest["resume_path"]).read_text())
            self.step, self.state = kept["step"], kept["state"]

    def record(self, **fields: object) -> None:
        self.pipe.write(json.dumps({"sequence": self.sequence, "ts": time.time(), **fields}) + "\n")
        self.pipe.flush()
        self.sequence += 1

    def blob(self, data: bytes) -> dict[str, object]:
        sha256 = hashlib.sha256(data).hexdigest()
        (self.run / "blobs" / sha256).write_bytes(data)
        return {"sha256": sha256, "bytes": len(data)}

    def train(self, steps: int, pace: float) -> None:
        self.record(kind="started", step=self.step, steps=steps)
        while self.step < steps:
            self.record(kind="phase", phase="generating", step=self.step + 1, done=0, total=1)
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
        os.execv(sys.executable, [sys.executable, "-m", "worker.main", "--run", str(run)])
    threading.Thread(target=leave_with_the_supervisor, daemon=True).start()
    Stub(run).train(spec["limits"]["steps"], float(spec["metadata"]["pace"]))


if __name__ == "__main__":
    main()
