"""`python -m reinforge.runner.slot MODULE:FUNCTION`: runs one rollout at a time, each in a fork of its own.

Reads tasks from standard input and writes outcomes to standard output, a line of JSON each. What the function prints
goes to standard error. The module is imported in the fork, where OPENAI_BASE_URL and OPENAI_API_KEY are set.
"""

import asyncio
import contextlib
import importlib
import inspect
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

from reinforge import settings
from reinforge.runner.program import Outcome, Task, failed, load, shares_process, succeeded

_CHECK = {"base_url": "http://127.0.0.1:9/v1", "api_key": "rf-ro-check"}


def main() -> None:
    target = sys.argv[1]
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner ends this process when it is interrupted
    sys.path.insert(0, str(Path.cwd()))
    with contextlib.suppress(
        Exception
    ):  # without the library, or with another release of it, forks only take longer
        _import_client()
    for line in sys.stdin:
        results.write(json.dumps(_apart(target, json.loads(line))) + "\n")
        results.flush()


def _import_client() -> None:
    """Import the modules that OpenAI's SDK imports on first use, once here instead of in every fork."""
    client = importlib.import_module("openai").OpenAI(**_CHECK)
    _ = client.chat.completions, client.responses


def _apart(target: str, task: Task) -> Outcome:
    """Run a task in a fork. If the fork dies, the outcome is an error."""
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
    status = _status(pid)
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


def _status(pid: int) -> int:
    """Wait status of the fork. If the runner ends first, kills this process group and so the fork."""
    if hasattr(os, "pidfd_open"):
        process = os.pidfd_open(pid)
        try:
            # The runner writes nothing while a rollout runs, so what can be read is the end of the file.
            readable, _, _ = select.select([process, sys.stdin.fileno()], [], [])
        finally:
            os.close(process)
        if process not in readable:
            os.killpg(0, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def run(target: str, task: Task) -> Outcome:
    """Run a task; `{"check": true}` only imports the function and reports if its rollouts share a process."""
    check = bool(task.get("check"))
    task = _CHECK if check else task
    settings.use_openai(task["base_url"], task["api_key"])
    try:
        function = load(target)
        if check:
            return {"reward": None, "shared": shares_process(function)}
        value = function(task)
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        return succeeded(value)
    except BaseException:  # noqa: BLE001 - whatever ends the program is the outcome of this rollout
        return failed()


async def _awaited(value: Any) -> Any:
    return await value


if __name__ == "__main__":
    main()
