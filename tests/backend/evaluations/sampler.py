"""RPC worker that samples and scores as scripted and can pause in the middle."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.backend.server import WORKER_TOKEN, Backend, agree_validate

Answer = Callable[[str, int], str]
"""Text of the last message and sample number → completion."""


def echo(prompt: str, sample: int) -> str:
    return f"{prompt} {sample}"


class Sampler(threading.Thread):
    """Completions by `answer`; the reward is 1 where the item's answer is in the completion."""

    def __init__(
        self,
        backend: Backend,
        answer: Answer = echo,
        failing: frozenset[str] = frozenset(),
        kinds: tuple[str, ...] = ("sample", "score", "validate"),
    ) -> None:
        super().__init__(daemon=True)
        self.backend, self.answer, self.failing, self.kinds = backend, answer, failing, kinds
        self.sampled: list[dict[str, Any]] = []
        self.gate = threading.Semaphore(10_000)
        """How many sample calls may still be answered."""
        self._done = threading.Event()
        self.worker = f"wrk_sampler_{time.monotonic_ns()}"

    def run(self) -> None:
        body = {"worker": self.worker, "kinds": self.kinds, "wait_seconds": 0.2}
        with self.backend.client(WORKER_TOKEN, "/worker/v1") as worker_api:
            while not self._done.is_set():
                response = worker_api.post("/calls/next", json=body)
                if response.status_code != 200:
                    continue
                call = response.json()
                if call["kind"] == "sample":
                    while not self.gate.acquire(timeout=0.05):
                        if self._done.is_set():
                            return
                    self.sampled.append(call["payload"])
                    chunk = {"seq": 1, "events": self._completions(call["payload"])}
                    worker_api.post(f"/calls/{call['id']}/chunks", json=chunk)
                    answer: dict[str, Any] = {}
                elif call["kind"] == "validate":
                    answer = agree_validate(call["payload"])
                else:
                    answer = self._scores(call["payload"])
                worker_api.post(f"/calls/{call['id']}/answer", json={"result": answer})

    def _completions(self, payload: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"type": "done", "prompt": place, "sample": sample, "tokens": 3, "finish_reason": "stop",
             "text": self.answer(messages[-1]["content"], sample)}
            for place, messages in enumerate(payload["prompts"])
            for sample in range(payload["samples_per_prompt"])
        ]  # fmt: skip

    def _scores(self, payload: dict[str, Any]) -> dict[str, Any]:
        results = []
        for row in payload["rows"]:
            if row["item"].get("answer") in self.failing:
                results.append({"name": payload["name"], "status": "error", "value": None, "message": "no"})
            else:
                right = float(str(row["item"]["answer"]) in row["completion"])
                results.append({"name": payload["name"], "status": "ok", "value": right})
        return {"jail": "L", "results": results, "load_error": None}

    def stop(self) -> None:
        self._done.set()
        self.join(10)
        self.backend.sql("DELETE FROM worker WHERE id = %s", self.worker)


@contextlib.contextmanager
def sampler(
    backend: Backend,
    answer: Answer = echo,
    failing: frozenset[str] = frozenset(),
    kinds: tuple[str, ...] = ("sample", "score", "validate"),
) -> Iterator[Sampler]:
    """kinds: the calls that it answers; another worker answers the rest."""
    running = Sampler(backend, answer, failing, kinds)
    backend.register(running.worker, "calls")
    running.start()
    try:
        yield running
    finally:
        running.stop()
