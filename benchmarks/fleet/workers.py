"""A process that plays the workers of many jobs: a step a second each, through the worker API, with the job's token.

    python -m fleet.workers PLAN.json OUT.json

Per step: what is being sampled (a phase), the step's object by PUT, then two phases, completions and metrics in one
request; a heartbeat every 5 s. Steps are due by the clock, whatever the backend does: one that is late is followed
by the next at once, as the outbox of a worker would. At the end a worker whose steps are late sends all of them.
"""

import http.client
import json
import pickle
import sys
import threading
import time
from pathlib import Path
from typing import Any

from fleet.steps import RECORDS_PER_STEP, Template
from fleet.wire import Wire
from reinforge.schemas.worker_api import HEARTBEAT_SECONDS


class Job:
    """One job's worker."""

    def __init__(self, plan: dict[str, Any], number: int, templates: list[Template]) -> None:
        self.job: dict[str, Any] = plan["jobs"][number]
        self._templates, self._number = templates, number
        self._wire = Wire(plan["url"], self.job["token"])
        self._first = plan["first_step"]
        self._steps, self._pace = plan["steps"], plan["pace"]
        self._begin = plan["begin"] + number / len(plan["jobs"]) * self._pace
        self._last_heartbeat = time.monotonic()
        self.steps: list[dict[str, float]] = []
        self.failure: str | None = None

    def run(self) -> None:
        try:
            for number in range(self._steps):
                due = self._begin + number * self._pace
                time.sleep(max(0.0, due - time.time()))
                self._step(self._first + number, due)
        except (OSError, http.client.HTTPException, RuntimeError, ValueError) as error:
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            self._wire.close()

    def _step(self, step: int, due: float) -> None:
        job, template = self.job, self._templates[(self._number + step) % len(self._templates)]
        first = int(job["sequence"]) + 1
        sha256, content = template.object(self._number << 32 | step)
        begun = self._post("records", template.begins(job["attempt"], first, step))
        put, status, reply = self._wire.ask("PUT", f"/worker/v1/blobs/{sha256}?kind=rollouts", content)
        if status not in (200, 201):
            raise RuntimeError(f"blob: {status} {reply[:300]!r}")
        body = template.records(job["attempt"], first + 1, step, sha256)
        post = self._post("records", body)
        job["sequence"] = first + RECORDS_PER_STEP - 1
        if time.monotonic() - self._last_heartbeat >= HEARTBEAT_SECONDS:
            self._last_heartbeat = time.monotonic()
            self._post("heartbeat", json.dumps({"attempt": job["attempt"]}).encode())
        late = max(0.0, time.time() - due)
        self.steps.append({"step": step, "begin": begun, "put": put, "post": post, "late": late})

    def _post(self, what: str, body: bytes) -> float:
        seconds, status, reply = self._wire.ask("POST", f"/worker/v1/jobs/{self.job['id']}/{what}", body)
        if status != 200:
            raise RuntimeError(f"{what}: {status} {reply[:300]!r}")
        return seconds


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    templates: list[Template] = pickle.loads(Path(plan["templates"]).read_bytes())
    jobs = [Job(plan, number, templates) for number in range(len(plan["jobs"]))]
    threads = [threading.Thread(target=job.run) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results = [
        {"job": job.job["id"], "sequence": job.job["sequence"], "steps": job.steps, "failure": job.failure}
        for job in jobs
    ]
    Path(sys.argv[2]).write_text(json.dumps({"jobs": results, "cpu": time.process_time()}))


if __name__ == "__main__":
    main()
