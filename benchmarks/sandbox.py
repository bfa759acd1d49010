"""Scoring in the sandbox beside the same function called plainly, and the time a jail takes to start.

8, 64 and 512 completions of 1.5 KB each, scored by a reward that reads the whole text and returns parts and a
reason. Peers: a call in this process, which isolates nothing; and a fresh Python process per 16 rows, the usual
cheap isolation, which keeps no secrets and no limits. A jail's start is compared with that of a bare interpreter.
"""

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.measure import alternate, machine, median, parser, table, write

from reinforge.offline import sandbox
from worker.sandbox import RewardRow, SandboxClient
from worker.sandbox.client import ROWS_PER_CALL
from worker.sandbox.jails import LandlockJail
from worker.sandbox.prefix import Prefix, ensure_prefix
from worker.sandbox.session import Session

SIZES = (8, 64, 512)
COMPLETION_BYTES = 1500

REWARD = """
import re

def grade(sample, item):
    text = sample["output_text"]
    numbers = [float(found) for found in re.findall(r"-?\\d+(?:\\.\\d+)?", text)]
    words = text.split()
    right = bool(numbers) and numbers[-1] == item["answer"]
    parts = {
        "right": float(right),
        "has_thought": float("<think>" in text and "</think>" in text),
        "variety": len(set(words)) / max(1, len(words)),
        "short": max(0.0, 1 - len(words) / 400),
    }
    score = 0.8 * parts["right"] + 0.1 * parts["has_thought"] + 0.1 * parts["variety"]
    return {"score": score, "parts": parts, "reason": f"last of {len(numbers)} numbers, expected {item['answer']}"}
"""

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
        scores += [each["score"] for each in json.loads(done.stdout)]
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
    found = []
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
        seconds, plain = median([pair[0] for pair in pairs]), median([pair[1] for pair in pairs])
        fresh = median(naive)
        found.append(
            {
                "rows": size,
                "sandbox": seconds,
                "in_process": plain,
                "fresh_processes": fresh,
                "ratio_in_process": seconds / plain,
                "ratio_fresh_processes": seconds / fresh,
            }
        )
    return found


def jail_start(prefix: Prefix) -> float:
    """Seconds until a jail has locked itself in."""

    async def start() -> float:
        started = time.perf_counter()
        session = await Session.start(LandlockJail(prefix))
        seconds = time.perf_counter() - started
        await session.kill()
        return seconds

    return asyncio.run(start())


def main() -> None:
    given = parser(__doc__).parse_args()
    rounds = 5 if given.quick else 11
    about = machine("reinforge")
    prefix = ensure_prefix()
    with tempfile.TemporaryDirectory(prefix="rf-") as folder:
        socket = Path(folder) / "sandbox.sock"
        started = time.perf_counter()
        with sandbox(socket, socket.parent), SandboxClient(socket) as client:
            status = client.status()
            ready = time.perf_counter() - started
            if not status.available:
                sys.exit(f"no jail on this machine: {'; '.join(status.reasons)}")
            found = scoring(client, rounds)
    starts = alternate(
        rounds,
        lambda: jail_start(prefix),
        lambda: timed(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)),
    )
    jail, bare = median([pair[0] for pair in starts]), median([pair[1] for pair in starts])

    print(f"Scoring completions of {COMPLETION_BYTES} bytes, medians of {rounds}; jail {status.jail}\n")
    table(
        ("rows", "sandbox ms", "per row ms", "in process ms", "×", "fresh processes ms", "×"),
        [
            (
                row["rows"],
                row["sandbox"] * 1e3,
                row["sandbox"] * 1e3 / row["rows"],
                row["in_process"] * 1e3,
                row["ratio_in_process"],
                row["fresh_processes"] * 1e3,
                row["ratio_fresh_processes"],
            )
            for row in found
        ],
    )
    print(
        f"\nStart of a jail {jail * 1e3:.0f} ms, of a bare interpreter {bare * 1e3:.0f} ms: {jail / bare:.1f} ×"
    )
    print(f"Start of the daemon until it has proved its jail: {ready * 1e3:.0f} ms")
    start = {"jail": jail, "bare_interpreter": bare, "ratio": jail / bare, "daemon": ready}
    write(
        "sandbox", {"machine": about, "jail": status.jail, "rounds": rounds, "scoring": found, "start": start}
    )


if __name__ == "__main__":
    main()
