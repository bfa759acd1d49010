"""`python -m reinforge.runner.slot MODULE:FUNCTION`: runs one rollout at a time, each in a fork of its own.

Reads tasks from standard input and writes outcomes to standard output, a line of JSON each. What the function prints
goes to standard error. The module is imported in the fork, where OPENAI_BASE_URL and OPENAI_API_KEY are set.
"""

import asyncio
import contextlib
import importlib
import inspect
import json
import math
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reinforge import settings

MOST_MESSAGE = 4000
"""Characters of an error, each at most 12 bytes of JSON: less than the 64 KiB of a pipe's buffer."""
_CHECK = {"base_url": "http://127.0.0.1:9/v1", "api_key": "rf-ro-check"}

Outcome = dict[str, Any]


def main() -> None:
    target = sys.argv[1]
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner ends this process when it is interrupted
    sys.path.insert(0, str(Path.cwd()))
    with contextlib.suppress(ImportError):
        importlib.import_module("openai")  # once, not in every fork
    for line in sys.stdin:
        results.write(json.dumps(_apart(target, json.loads(line))) + "\n")
        results.flush()


def _apart(target: str, task: dict[str, Any]) -> Outcome:
    """The outcome of a task in a fork. One that dies is an outcome, too."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            # Less than a pipe's buffer (MOST_MESSAGE): it is read after the fork has ended.
            os.write(writer, json.dumps(run(target, task)).encode())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    os.close(writer)
    _, status = os.waitpid(pid, 0)
    with os.fdopen(reader, "rb") as pipe:
        os.set_blocking(pipe.fileno(), False)
        written = pipe.read() or b""
    try:
        outcome: Outcome = json.loads(written)
    except ValueError:
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return {"error": f"The program's process {how}, without a result."}
    return outcome


def run(target: str, task: dict[str, Any]) -> Outcome:
    """{"reward": …} or {"error": …}; `{"check": true}` imports the function without calling it."""
    check = bool(task.get("check"))
    task = _CHECK if check else task
    settings.use_openai(task["base_url"], task["api_key"])
    try:
        function = load(target)
        if check:
            return {"reward": None}
        value = function(task)
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        return {"reward": _reward(value)}
    except BaseException:  # noqa: BLE001 - whatever ends the program is the outcome of this rollout
        return {"error": traceback.format_exc(limit=-8)[-MOST_MESSAGE:]}


async def _awaited(value: Any) -> Any:
    return await value


def load(target: str) -> Callable[[dict[str, Any]], Any]:
    module, _, name = target.partition(":")
    function = getattr(importlib.import_module(module), name, None)
    if not callable(function):
        raise TypeError(f"{module} has no function {name!r}")
    result: Callable[[dict[str, Any]], Any] = function
    return result


def _reward(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    raise TypeError(f"the function returned {str(value)[:200]!r}; it returns a finite number, or None")


if __name__ == "__main__":
    main()
