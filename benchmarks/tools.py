"""Calls of tools in the sandbox: 128 rollouts with one call each, functions and a class, as turns go by.

A class repeats all former calls of its rollout, so turn 32 costs more than turn 1. Every replay is checked against the
results before. `child per call` is `isolate: sample`, for tools that run what a model wrote.

Wanted on two quiet cores, 95th percentile: 40 ms with a shared child, 60 ms at turn 32, 1.5 s with a child per call.
`load` is the machine's when it was measured; `cpu` is the processor time of client, daemon and jails for a turn, which
load changes little: on a quiet machine a turn takes no longer.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from common.measure import ROOT, machine, median, parser, table, write

from worker.environment.tools.base import PastCall, PythonSource, ToolRequest, past_call
from worker.environment.tools.jailed import JailedSource
from worker.environment.tools.runner import Tools
from worker.sandbox import SandboxClient

ROLLOUTS = 128
TURNS = (1, 8, 32)

FUNCTION = '''
import re

def calculate(expression: str, *, state: dict) -> str:
    """Calculate an expression of integers."""
    if not re.fullmatch(r"[0-9 +*()-]{1,80}", expression):
        raise ValueError("only integers and + - * ( )")
    state["calls"] = state.get("calls", 0) + 1
    return str(eval(expression))
'''

CLASS = '''
import random

class Wordle:
    WORDS = ["crane", "slate", "brick", "jumpy", "vozhd", "waltz", "fjord", "nymph"] * 250

    def reset(self, **row):
        self.word, self.count = random.choice(self.WORDS), 0
        return "Guess a word of five letters."

    def guess(self, word: str) -> str:
        """Guess the word."""
        self.count += 1
        marks = "".join("G" if a == b else "y" if a in self.word else "-" for a, b in zip(word, self.word))
        return f"{self.count}: {marks} {random.random()}"
'''

WORDS = ("crane", "slate", "brick", "jumpy", "vozhd", "waltz", "fjord", "nymph")


def function_calls(history: tuple[PastCall, ...] = ()) -> list[ToolRequest]:
    return [
        ToolRequest(i, {}, 0, "calculate", {"expression": f"{i} * 17 + {i}"}, "{}", history, i)
        for i in range(ROLLOUTS)
    ]


def class_calls(histories: list[tuple[PastCall, ...]]) -> list[ToolRequest]:
    return [
        ToolRequest(i, {}, 0, "guess", {"word": WORDS[(i + len(history)) % 8]}, "{}", history, i)
        for i, history in enumerate(histories)
    ]


def histories_of(tools: Tools, turns: int) -> list[tuple[PastCall, ...]]:
    """What `turns` - 1 real turns leave."""
    histories: list[tuple[PastCall, ...]] = [() for _ in range(ROLLOUTS)]
    for _ in range(turns - 1):
        requests = class_calls(histories)
        results = run(tools, requests)
        histories = [
            (*history, past_call(request, result))
            for history, request, result in zip(histories, requests, results, strict=True)
        ]
    return histories


def run(tools: Tools, requests: list[ToolRequest]) -> list[Any]:
    results = tools.run(requests)
    if bad := [result for result in results if result.status != "ok" or result.finding]:
        sys.exit(f"{len(bad)} calls failed: {bad[0]}")
    return results


def cpu_seconds(daemon: psutil.Process) -> float:
    """Of this process, the daemon, its jails, and their children that have ended."""
    own = time.process_time()
    return own + sum(sum(process.cpu_times()[:4]) for process in (daemon, *daemon.children(recursive=True)))


def timed(daemon: psutil.Process, tools: Tools, requests: list[ToolRequest], rounds: int) -> dict[str, float]:
    """Milliseconds of a turn."""
    run(tools, requests)
    times, began = [], cpu_seconds(daemon)
    for _ in range(rounds):
        started = time.perf_counter()
        run(tools, requests)
        times.append(1000 * (time.perf_counter() - started))
    cpu = 1000 * (cpu_seconds(daemon) - began) / rounds
    times.sort()
    return {
        "median": median(times),
        "best": times[0],
        "cpu": cpu,
        "p95": times[min(len(times) - 1, int(0.95 * len(times)))],
    }


def measure(client: SandboxClient, pid: int, rounds: int) -> dict[str, dict[str, float]]:
    def tools(source: str, **options: Any) -> Tools:
        return Tools({"tools.py": JailedSource(client, PythonSource("tools.py", source, **options))})

    daemon = psutil.Process(pid)
    shared = tools(CLASS, kind="class")
    results = {"functions, shared child": timed(daemon, tools(FUNCTION), function_calls(), rounds)}
    for turn in TURNS:
        results[f"class, turn {turn}"] = timed(
            daemon, shared, class_calls(histories_of(shared, turn)), rounds
        )
    few = max(3, rounds // 7)
    results["functions, child per call"] = timed(
        daemon, tools(FUNCTION, isolate="sample"), function_calls(), few
    )
    alone = tools(CLASS, kind="class", isolate="sample")
    requests = class_calls(histories_of(shared, TURNS[-1]))
    results[f"class, turn {TURNS[-1]}, child per call"] = timed(daemon, alone, requests, few)
    return results


def main() -> None:
    options = parser(__doc__).parse_args()
    rounds = 7 if options.quick else 41
    about, load = machine("reinforge"), round(os.getloadavg()[0], 1)
    jails: dict[str, dict[str, dict[str, float]]] = {}
    for letter in ("N", "L"):
        with tempfile.TemporaryDirectory(prefix="rf-") as folder:
            socket = Path(folder) / "sandbox.sock"
            command = [
                sys.executable,
                "-P",
                "-m",
                "worker.sandbox",
                "--socket",
                str(socket),
                "--jail",
                letter,
            ]
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as daemon:
                assert daemon.stderr is not None
                try:
                    if "proved" not in daemon.stderr.readline():
                        print(f"jail {letter} does not hold here")
                        continue
                    with SandboxClient(socket) as client:
                        jails[letter] = measure(client, daemon.pid, rounds)
                finally:
                    daemon.terminate()
        print(f"\nJail {letter}, {ROLLOUTS} rollouts with one call each, medians of {rounds}; load {load}\n")
        head = ("turn", "median ms", "best", "p95", "cpu")
        columns = ("median", "best", "p95", "cpu")
        table(head, [(name, *(row[column] for column in columns)) for name, row in jails[letter].items()])
    write("tools", {"machine": about, "load": load, "rounds": rounds, "rollouts": ROLLOUTS, "jails": jails})


if __name__ == "__main__":
    main()
