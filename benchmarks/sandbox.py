"""Scoring in the sandbox beside the same function called plainly, the start of each jail, and a model's program.

8, 64 and 512 completions of 1.5 KB each, scored by a reward of the usual kind (patterns, a number, parts and a reason),
in each jail that holds here. Peers: a call in this process, which isolates nothing; and a fresh Python process per 16
rows, the cheap isolation, which keeps no secrets and no limits. A jail's start and a program are compared with a bare
interpreter's.

Wanted on a quiet machine: 64 completions within 15 ms at the 95th percentile, 20,000 rewards/s at 512, a jail started
within 150 ms, a program run within 10 ms. `load` is the machine's when it was measured: with more load than cores every
hand-over between processes waits for a turn, which a plain call does not.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.measure import ROOT, alternate, machine, median, parser, table, write

from worker.sandbox import RewardRow, SandboxClient
from worker.sandbox.client import ROWS_PER_CALL
from worker.sandbox.daemon.probe import prove
from worker.sandbox.daemon.session import Session
from worker.sandbox.jails import JAILS, Jail
from worker.sandbox.jails.prefix import ensure_prefix
from worker.sandbox.outcome import ProgramRun

SIZES = (8, 64, 512)
COMPLETION_BYTES = 1500

REWARD = """
import re

NUMBER = re.compile(r"<answer>\\s*(-?[0-9]+(?:[.][0-9]+)?)\\s*</answer>")

def grade(sample, item):
    text = sample["output_text"]
    found = NUMBER.search(text)
    parts = {
        "right": float(found is not None and float(found[1]) == item["answer"]),
        "format": float(text.startswith("<think>") and text.count("</think>") == 1),
        "short": max(0.0, 1 - len(text) / 4000),
    }
    score = 0.8 * parts["right"] + 0.1 * parts["format"] + 0.1 * parts["short"]
    return {"score": score, "parts": parts, "reason": f"{found and found[1]}, expected {item['answer']}"}
"""

PROGRAM = "print(sum(map(int, input().split())))"

NAIVE = """
import json, sys
names = {}
exec(sys.argv[1], names)
print(json.dumps([names["grade"](sample, item) for sample, item in json.load(sys.stdin)]))
"""


def rows(count: int) -> list[RewardRow]:
    """Completions that look like worked answers, always the same ones."""
    chance = random.Random(0)
    made = []
    for _ in range(count):
        words = "".join(f"{chance.choice('abcdefgh') * 4} {chance.randrange(1000)} " for _ in range(400))
        text = f"<think>{words[:COMPLETION_BYTES]}</think><answer>{chance.randrange(100)}</answer>"
        made.append(RewardRow("What is it?", text, {"answer": chance.randrange(100)}))
    return made


def in_process(chosen: list[RewardRow]) -> list[float]:
    names: dict[str, Any] = {}
    exec(REWARD, names)
    return [names["grade"]({"output_text": row.completion}, row.item)["score"] for row in chosen]


def in_fresh_processes(chosen: list[RewardRow]) -> list[float]:
    scores = []
    for start in range(0, len(chosen), ROWS_PER_CALL):
        part = [({"output_text": row.completion}, row.item) for row in chosen[start : start + ROWS_PER_CALL]]
        done = subprocess.run(
            [sys.executable, "-c", NAIVE, REWARD],
            input=json.dumps(part),
            capture_output=True,
            text=True,
            check=True,
        )
        scores += [row["score"] for row in json.loads(done.stdout)]
    return scores


def in_sandbox(client: SandboxClient, chosen: list[RewardRow]) -> list[float]:
    outcome = client.score(REWARD, chosen)
    if outcome.status != "ok" or any(row.status != "ok" for row in outcome.rows):
        sys.exit(f"the sandbox said {outcome.status}: {outcome.message}")
    return [row.value for row in outcome.rows if row.value is not None]


def timed(action: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def scoring(client: SandboxClient, rounds: int) -> list[dict[str, float]]:
    """Median seconds for each size and side; all sides must agree on every score."""
    timings = []
    for size in SIZES:
        chosen = rows(size)
        if not in_sandbox(client, chosen) == in_process(chosen) == in_fresh_processes(chosen):
            sys.exit("the sides disagree about the scores")

        naive: list[float] = []

        def ours(chosen: list[RewardRow] = chosen) -> float:
            return timed(lambda: in_sandbox(client, chosen))

        def peers(chosen: list[RewardRow] = chosen, naive: list[float] = naive) -> float:
            naive.append(timed(lambda: in_fresh_processes(chosen)))
            return timed(lambda: in_process(chosen))

        pairs = alternate(rounds, ours, peers)
        times = sorted(pair[0] for pair in pairs)
        seconds, plain = median(times), median([pair[1] for pair in pairs])
        fresh = median(naive)
        timings.append(
            {
                "rows": size,
                "sandbox": seconds,
                "best": times[0],
                "p95": times[min(len(times) - 1, int(0.95 * len(times)))],
                "rewards_per_second": size / seconds,
                "in_process": plain,
                "fresh_processes": fresh,
                "ratio_in_process": seconds / plain,
                "ratio_fresh_processes": seconds / fresh,
            }
        )
    return timings


def jail_start(jail: Jail) -> float:
    """Seconds until a jail has locked itself in."""

    async def start() -> float:
        started = time.perf_counter()
        session = await Session.start(jail)
        seconds = time.perf_counter() - started
        await session.kill()
        return seconds

    return asyncio.run(start())


def program(client: SandboxClient) -> None:
    outcome = client.run_programs(PROGRAM, [ProgramRun("1 2 3")])
    if [result.output for result in outcome.results] != ["6\n"]:
        sys.exit(f"the program said {outcome}")


def bare_program() -> None:
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM], input=b"1 2 3", capture_output=True, check=True
    )


def measure(jail: Jail, rounds: int) -> dict[str, Any]:
    """One jail: scoring, programs, its start, and the start of a daemon until it has proved it."""
    with tempfile.TemporaryDirectory(prefix="rf-") as folder:
        socket = Path(folder) / "sandbox.sock"
        started = time.perf_counter()
        command = [sys.executable, "-P", "-m", "worker.sandbox", "--socket", str(socket), "--jail", jail.name]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as daemon:
            assert daemon.stderr is not None
            line = daemon.stderr.readline()
            ready = time.perf_counter() - started
            try:
                if "proved" not in line:
                    sys.exit(line)
                with SandboxClient(socket) as client:
                    timings = scoring(client, rounds)
                    program(client)
                    pairs = alternate(
                        rounds, lambda: timed(lambda: program(client)), lambda: timed(bare_program)
                    )
            finally:
                daemon.terminate()
    programs, bare = sorted(pair[0] for pair in pairs), median([pair[1] for pair in pairs])
    starts = sorted(jail_start(jail) for _ in range(rounds))
    return {
        "scoring": timings,
        "start": {"median": median(starts), "best": starts[0], "daemon": ready},
        "program": {"median": median(programs), "best": programs[0], "bare_interpreter": bare},
    }


def show(name: str, result: dict[str, Any]) -> None:
    print(f"\nJail {name}\n")
    table(
        ("rows", "sandbox ms", "best", "p95", "rewards/s", "in process ms", "×", "fresh processes ms", "×"),
        [
            (
                row["rows"],
                row["sandbox"] * 1e3,
                row["best"] * 1e3,
                row["p95"] * 1e3,
                round(row["rewards_per_second"]),
                row["in_process"] * 1e3,
                row["ratio_in_process"],
                row["fresh_processes"] * 1e3,
                row["ratio_fresh_processes"],
            )
            for row in result["scoring"]
        ],
    )
    start, run = result["start"], result["program"]
    bare = run["bare_interpreter"]
    print(
        f"\nStart {start['median'] * 1e3:.0f} ms (best {start['best'] * 1e3:.0f}), of a daemon until it has proved "
        f"the jail {start['daemon'] * 1e3:.0f} ms; a program {run['median'] * 1e3:.1f} ms (best "
        f"{run['best'] * 1e3:.1f}), in a bare interpreter {bare * 1e3:.1f} ms: {run['median'] / bare:.2f} ×"
    )


def main() -> None:
    options = parser(__doc__).parse_args()
    rounds = 5 if options.quick else 21
    about, prefix = machine("reinforge"), ensure_prefix()
    proofs = [(jail, asyncio.run(prove(jail))) for jail in (make(prefix) for make in JAILS.values())]
    held = [jail for jail, proof in proofs if proof.held]
    refused = {proof.jail: proof.reason for _, proof in proofs if not proof.held}
    if not held:
        sys.exit(f"no jail on this machine: {refused}")
    load = round(os.getloadavg()[0], 1)
    print(f"Scoring completions of {COMPLETION_BYTES} bytes, medians of {rounds}; load {load}")
    jails = {jail.name: measure(jail, rounds) for jail in held}
    for name, jail_result in jails.items():
        show(name, jail_result)
    for name, reason in refused.items():
        print(f"\nJail {name}: {reason}")
    result = {"machine": about, "load": load, "rounds": rounds, "jails": jails, "refused": refused}
    write("sandbox", result)


if __name__ == "__main__":
    main()
