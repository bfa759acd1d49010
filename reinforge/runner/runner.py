"""Runner: pulls rollouts of a job and runs a function for each, several at once, until the job has ended."""

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx

from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, Unavailable
from reinforge.runner.processes import OwnProcess, RolloutProcess, SharedProcess
from reinforge.runner.program import Outcome
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
    """Rollouts that the server ended, because their time was over or the job's attempt had ended."""


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
        """target: `MODULE:FUNCTION`. note: receives progress messages."""
        self._client, self._job, self._target, self._note = client, job, target, note
        self._concurrency = concurrency
        self._name = f"{socket.gethostname()}-{os.getpid()}"
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._shared: SharedProcess | None = None
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=concurrency)
        self._http = httpx.Client(base_url=f"{client.base_url}{PATH}", timeout=10.0, limits=limits)
        self.counts = RunnerCounts()

    def run(self) -> RunnerCounts:
        """Run rollouts until the job ends or `stop` is called.

        Raises InvalidInput `agent_not_importable`, and errors of the server.
        """
        processes = self._processes()
        threads = [
            threading.Thread(target=self._guarded, args=(process,), name=f"rollout-{number}")
            for number, process in enumerate(processes)
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
            if self._shared is not None:
                self._shared.close()
            self._http.close()
        if self._failure is not None:
            raise self._failure
        return self.counts

    def stop(self) -> None:
        """End running programs and return their rollouts to the server."""
        self._stop.set()

    def _processes(self) -> Sequence[RolloutProcess]:
        """A process, own or shared, per concurrent rollout."""
        first = OwnProcess(self._target)
        outcome: Outcome | None = {"error": "the name is not MODULE:FUNCTION"}
        try:
            if all(self._target.partition(":")):
                first.start("check", {"check": True})
                outcome = first.outcome(_CHECK_SECONDS)
        except BaseException:
            first.close()
            raise
        if outcome is None or "error" in outcome:
            first.close()
            reason = (outcome or {"error": "it took too long"})["error"].strip().splitlines()[-1]
            raise InvalidInput(
                f"{self._target} cannot be imported: {reason}",
                code="agent_not_importable",
                hint="Give MODULE:FUNCTION, and start the runner in the folder of the module.",
            )
        if not outcome["shared"]:
            return [first, *(OwnProcess(self._target) for _ in range(self._concurrency - 1))]
        first.close()
        self._shared = SharedProcess(self._target)
        return [self._shared.part() for _ in range(self._concurrency)]

    def _guarded(self, process: RolloutProcess) -> None:
        try:
            self._work(process)
        except BaseException as error:  # noqa: BLE001 - raised again by `run`
            self._failure = self._failure or error
            self._stop.set()

    def _work(self, process: RolloutProcess) -> None:
        try:
            while not self._stop.is_set():
                tasks = self._take()
                if tasks is not None and tasks.ended:
                    return
                for task in tasks.data if tasks is not None else ():
                    self._run(task, process)
        finally:
            process.close()

    def _take(self) -> AgentTasks | None:
        """Take rollouts from the server; None if it does not answer."""
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

    def _run(self, task: AgentTask, process: RolloutProcess) -> None:
        rollout = RolloutConnection(self._http, task.api_key)
        process.start(task.rollout_id, task.model_dump() | {"base_url": str(self._http.base_url).rstrip("/")})
        while (outcome := process.outcome(task.heartbeat_seconds / 4, self._stop)) is None:
            if self._stop.is_set():
                process.cancel()
                rollout.end(EndRollout(released=True))
                return
            if not rollout.renewed():
                process.cancel()
                self._count("ended_elsewhere")
                return
        error = outcome.get("error")
        if error is not None:
            self._note(f"{task.rollout_id} failed: {error.strip().splitlines()[-1]}")
        end = rollout.end(EndRollout(reward=outcome.get("reward"), error=error))
        if end is None:
            self._count("ended_elsewhere")
        elif end.released:
            self._note(f"{task.rollout_id} is returned: the server did not respond for a while.")
        else:
            self._count("failed" if error is not None else "succeeded")

    def _count(self, field: str) -> None:
        with self._lock:
            setattr(self.counts, field, getattr(self.counts, field) + 1)


class RolloutConnection:
    """Reports a rollout to the server: that it still runs, and how it ended."""

    def __init__(self, http: httpx.Client, api_key: str) -> None:
        self._http, self._headers = http, {"authorization": f"Bearer {api_key}"}

    def renewed(self) -> bool:
        """Send a heartbeat; False if the server says that the rollout is no longer this runner's."""
        try:
            status = self._http.post("/heartbeat", headers=self._headers).status_code
        except httpx.TransportError:
            return True
        return status not in (401, 403, 404, 409)

    def end(self, body: EndRollout) -> EndRollout | None:
        """Report the end of the rollout, with retries for a minute. Returns the accepted report, or None.

        A failed rollout is returned instead if the server had an outage, which may be the cause.
        """
        until = time.monotonic() + (_GRACE_SECONDS if body.released else _END_SECONDS)
        while True:
            try:
                response = self._http.post("/end", json=body.model_dump(), headers=self._headers)
            except httpx.TransportError:
                body = EndRollout(released=True) if body.error is not None else body
            else:
                if response.status_code < 500 and response.status_code not in (408, 429):
                    return body if response.status_code < 400 else None
            if time.monotonic() > until:
                return None
            time.sleep(0.5)
