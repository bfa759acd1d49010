"""Runner: pulls rollouts of a job and runs a function for each, several at once, until the job has ended."""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, Unavailable
from reinforge.schemas.agent_rollouts import TAKE_SECONDS, AgentTask, AgentTasks, EndRollout, TakeRollouts

PATH = "/v1/rollout"
_GRACE_SECONDS = 2.0
_CHECK_SECONDS = 60.0
_END_SECONDS = 60.0
_AWAY_SECONDS = 2.0

Note = Callable[[str], None]


@dataclass
class RunnerCounts:
    succeeded: int = 0
    failed: int = 0
    ended_elsewhere: int = 0
    """The server ended them: time was over, or the attempt has ended."""


class RolloutRunner:
    def __init__(
        self,
        client: Reinforge,
        job: str,
        target: str,
        *,
        concurrency: int = 1,
        note: Note = lambda line: None,
    ) -> None:
        """target: `MODULE:FUNCTION`. note: gets lines for people."""
        self._client, self._job, self._target, self._note = client, job, target, note
        self._concurrency = concurrency
        self._name = f"{socket.gethostname()}-{os.getpid()}"
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self.counts = RunnerCounts()

    def run(self) -> RunnerCounts:
        """Until the job has ended, or `stop`. Raises InvalidInput `agent_not_importable`, and errors of the server."""
        slots = [self._checked_slot(), *[None] * (self._concurrency - 1)]
        threads = [
            threading.Thread(target=self._guarded, args=(slot,), name=f"rollout-{number}")
            for number, slot in enumerate(slots)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        finally:
            self.stop()
            for thread in threads:
                thread.join()
        if self._failure is not None:
            raise self._failure
        return self.counts

    def stop(self) -> None:
        """End running programs and give their rollouts back."""
        self._stop.set()

    def _checked_slot(self) -> "Slot":
        """A process that can import the function. Raises InvalidInput `agent_not_importable`."""
        module, _, name = self._target.partition(":")
        slot = Slot(self._target)
        outcome: dict[str, Any] | None = {"error": "it is not MODULE:FUNCTION"}
        try:
            if module and name:
                slot.start({"check": True})
                outcome = slot.outcome(_CHECK_SECONDS)
            if outcome is not None and "error" not in outcome:
                return slot
        except BaseException:
            slot.kill()
            raise
        slot.kill()
        reason = (outcome or {"error": "it took too long"})["error"].strip().splitlines()[-1]
        raise InvalidInput(
            f"{self._target} cannot be imported: {reason}",
            code="agent_not_importable",
            hint="Give MODULE:FUNCTION, and start the runner in the folder of the module.",
        )

    def _guarded(self, slot: "Slot | None") -> None:
        try:
            self._work(slot)
        except BaseException as error:  # noqa: BLE001 - raised again by `run`
            self._failure = self._failure or error
            self._stop.set()

    def _work(self, slot: "Slot | None") -> None:
        try:
            while not self._stop.is_set():
                tasks = self._take()
                if tasks is not None and tasks.ended:
                    return
                for task in tasks.data if tasks is not None else ():
                    if slot is None or not slot.alive:
                        slot = Slot(self._target)
                    self._run(task, slot)
        finally:
            if slot is not None:
                slot.kill()

    def _take(self) -> AgentTasks | None:
        """None while the server is away."""
        body = TakeRollouts(runner=self._name, wait_seconds=TAKE_SECONDS)
        try:
            reply = self._client.transport.post(
                f"/jobs/{self._job}/rollouts/take", body.model_dump(), at_least=TAKE_SECONDS + 15.0
            )
        except Unavailable as error:
            self._note(f"{error.message} Trying again.")
            self._stop.wait(_AWAY_SECONDS)
            return None
        return AgentTasks.model_validate(reply)

    def _run(self, task: AgentTask, slot: "Slot") -> None:
        base_url = f"{self._client.base_url}{PATH}"
        with httpx.Client(
            base_url=base_url, headers={"authorization": f"Bearer {task.api_key}"}, timeout=10.0
        ) as http:
            slot.start(task.model_dump() | {"base_url": base_url})
            while (outcome := slot.outcome(task.heartbeat_seconds / 4, self._stop)) is None:
                if self._stop.is_set():
                    slot.kill()
                    self._end(http, EndRollout(released=True))
                    return
                if not _renewed(http):
                    slot.kill()
                    self._count("ended_elsewhere")
                    return
            self._report(http, task, outcome)

    def _report(self, http: httpx.Client, task: AgentTask, outcome: dict[str, Any]) -> None:
        error = outcome.get("error")
        if error is not None:
            self._note(f"{task.rollout_id} failed: {error.strip().splitlines()[-1]}")
        ended = self._end(http, EndRollout(reward=outcome.get("reward"), error=error))
        self._count("ended_elsewhere" if not ended else "failed" if error is not None else "succeeded")

    def _end(self, http: httpx.Client, body: EndRollout) -> bool:
        """Whether the server takes it; a server that is away gets it once it is back."""
        until = time.monotonic() + (_GRACE_SECONDS if body.released else _END_SECONDS)
        while True:
            with suppress(httpx.TransportError):
                status = http.post("/end", json=body.model_dump()).status_code
                if status < 500 and status not in (408, 429):
                    return status < 400
            if time.monotonic() > until:
                return False
            time.sleep(0.5)

    def _count(self, field: str) -> None:
        with self._lock:
            setattr(self.counts, field, getattr(self.counts, field) + 1)


class Slot:
    """A process of `reinforge.runner.slot` and the forks of it, in a session of their own."""

    def __init__(self, target: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reinforge.runner.slot", target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._outcomes: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def start(self, task: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # its end is the outcome
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()

    def outcome(self, seconds: float, stop: threading.Event | None = None) -> dict[str, Any] | None:
        """None after `seconds`, or soon after `stop`."""
        until = time.monotonic() + seconds
        while (remaining := until - time.monotonic()) > 0 and not (stop is not None and stop.is_set()):
            with suppress(queue.Empty):
                return self._outcomes.get(timeout=min(remaining, 0.2))
        return None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._outcomes.put(json.loads(line))
        self._outcomes.put({"error": "The process that runs the program has ended."})


def _renewed(http: httpx.Client) -> bool:
    """Whether the rollout is still this runner's; a server that does not answer may come back."""
    try:
        status = http.post("/heartbeat").status_code
    except httpx.TransportError:
        return True
    return status not in (401, 403, 404, 409)
