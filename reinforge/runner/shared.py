"""`python -m reinforge.runner.shared MODULE:FUNCTION`: runs all rollouts of a runner in one process.

The function is decorated with `reads_task`. Reads `{"id", "task"}` and `{"id", "cancel"}` from standard input
and writes `{"id", "outcome"}` to standard output, as JSON lines. Coroutine functions run in one event loop,
other functions in a thread for each rollout. A thread cannot be cancelled: the server refuses its next model
call, and its outcome is ignored.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, TextIO

from reinforge.runner.program import Outcome, Program, Task, failed, is_coroutine, load, succeeded


def main() -> None:
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner ends this process when it is interrupted
    sys.path.insert(0, str(Path.cwd()))
    rollouts = _rollouts(sys.argv[1], results)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("cancel"):
            rollouts.cancel(message["id"])
        else:
            rollouts.start(message["id"], message["task"])


def _rollouts(target: str, results: TextIO) -> "_Coroutines | _Threads":
    try:
        function = load(target)
    except BaseException as error:  # noqa: BLE001 - the outcome of each rollout says it
        hint = "A function that reads its task is imported without OPENAI_BASE_URL: create its client there."
        return _Threads(_raising(f"The module cannot be imported: {error!r}. {hint}"), results)
    return _Coroutines(function, results) if is_coroutine(function) else _Threads(function, results)


def _raising(message: str) -> Program:
    def play(task: Task) -> None:
        raise RuntimeError(message)

    return play


class _Outcomes:
    def __init__(self, results: TextIO) -> None:
        self._results, self._lock = results, threading.Lock()

    def write(self, id: str, outcome: Outcome) -> None:
        with self._lock:
            self._results.write(json.dumps({"id": id, "outcome": outcome}) + "\n")
            self._results.flush()


class _Threads:
    def __init__(self, function: Program, results: TextIO) -> None:
        self._function, self._outcomes = function, _Outcomes(results)

    def start(self, id: str, task: Task) -> None:
        threading.Thread(target=self._run, args=(id, task), daemon=True, name=id).start()

    def cancel(self, id: str) -> None:
        """Do nothing: a thread cannot be cancelled."""

    def _run(self, id: str, task: Task) -> None:
        try:
            outcome = succeeded(self._function(task))
        except BaseException:  # noqa: BLE001 - whatever ends the program is the outcome of this rollout
            outcome = failed()
        self._outcomes.write(id, outcome)


class _Coroutines:
    def __init__(self, function: Program, results: TextIO) -> None:
        self._function, self._outcomes = function, _Outcomes(results)
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        threading.Thread(target=self._loop.run_forever, daemon=True, name="rollouts").start()

    def start(self, id: str, task: Task) -> None:
        self._loop.call_soon_threadsafe(self._begin, id, task)

    def cancel(self, id: str) -> None:
        def cancel() -> None:
            if (running := self._tasks.get(id)) is not None:
                running.cancel()

        self._loop.call_soon_threadsafe(cancel)

    def _begin(self, id: str, task: Task) -> None:
        self._tasks[id] = self._loop.create_task(self._run(id, task))

    async def _run(self, id: str, task: Task) -> None:
        try:
            outcome = succeeded(await self._function(task))
        except BaseException:  # noqa: BLE001 - whatever ends the program is the outcome of this rollout
            outcome = failed()
        del self._tasks[id]
        self._outcomes.write(id, outcome)


if __name__ == "__main__":
    main()
