"""Sixteen thousand rewards among rows that crash, exit, hang and flood: the others are right and nothing grows."""

import random
from pathlib import Path

import pytest

from worker.sandbox import RewardRow, SandboxClient, Timeouts

from .harness import STRONGEST, RunningDaemon, running_daemon

ROWS, ROUNDS = 2000, 8
HOSTILE = {
    "crash": "crashed", "exit": "exited", "quit": "exception", "raise": "exception", "memory": "memory",
    "bad": "bad_value", "flood": "output_flood", "loop": "timeout",
}  # fmt: skip
SOURCE = """
import ctypes, hashlib, os
def grade(sample, item):
    text = sample["output_text"]
    if text == "crash": ctypes.string_at(0)
    if text == "exit": os._exit(0)
    if text == "quit": raise SystemExit(0)
    if text == "raise": raise RuntimeError("no")
    if text == "memory": bytearray(1 << 40)
    if text == "bad": return float("nan")
    if text == "flood":
        while True: os.write(1, b"x" * 65536)
    while text == "loop": pass
    value = int(hashlib.sha256(text.encode()).hexdigest()[:4], 16) / 65536
    names = {f"{ord(c)}" for c in text}
    return {"score": value, "reason": ",".join(names), "parts": {"length": len(text)}, "steps": [(value, len(text))]}
"""
FAST = Timeouts(sample=0.25, call=60.0)


def resident_kib(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0])


def jail(client: SandboxClient) -> int:
    (pid,) = client.status().probe["jail_pids"]
    return int(pid)


def descriptors(daemon: RunningDaemon) -> int:
    return len(list(Path(f"/proc/{daemon.pid}/fd").iterdir()))


@pytest.mark.long
def test_sixteen_thousand_rewards_leave_nothing_behind() -> None:
    chance = random.Random(11)
    with running_daemon(jail=STRONGEST) as daemon, daemon.client() as client:
        texts = [f"text {i}" for i in range(ROWS)]
        clean = client.score(SOURCE, [RewardRow("", text) for text in texts], timeouts=FAST).rows
        expected = {
            text: (row.value, row.reason, row.parts, row.steps)
            for text, row in zip(texts, clean, strict=True)
        }
        assert all(row.status == "ok" for row in clean)
        before = (jail(client), descriptors(daemon), resident_kib(jail(client)))
        for _ in range(ROUNDS):
            mixed = list(texts)
            for kind in HOSTILE:
                mixed[chance.randrange(ROWS)] = kind
            rows = client.score(SOURCE, [RewardRow("", text) for text in mixed], timeouts=FAST).rows
            for text, row in zip(mixed, rows, strict=True):
                if text in HOSTILE:
                    assert (row.status, row.value) == (HOSTILE[text], None), row
                else:
                    assert (row.value, row.reason, row.parts, row.steps) == expected[text]
        assert client.status().probe["failures"] == 0
        assert jail(client) == before[0], "the jail was replaced"
        assert descriptors(daemon) <= before[1]
        assert resident_kib(before[0]) <= before[2] + 2048


def test_scores_depend_on_no_neighbour_place_or_isolation(client: SandboxClient) -> None:
    texts = ["a", "bb", "ccc"]
    alone = {text: client.score(SOURCE, [RewardRow("", text)], timeouts=FAST).rows[0] for text in texts}
    for isolate in ("batch", "sample"):
        for kind in ("crash", "memory", "loop"):
            for place in range(4):
                mixed = [*texts[:place], kind, *texts[place:]]
                rows = client.score(
                    SOURCE,
                    [RewardRow("", text) for text in mixed],
                    timeouts=FAST,
                    isolate=isolate,  # type: ignore[arg-type]
                ).rows
                for text, row in zip(mixed, rows, strict=True):
                    if text in alone:
                        same = alone[text]
                        assert (row.value, row.reason, row.parts) == (same.value, same.reason, same.parts)
                    else:
                        assert row.status == HOSTILE[text]
