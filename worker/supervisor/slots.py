"""Numbered slots that worker processes lock. Kills trainers that a slot's former worker left running."""

import fcntl
import hashlib
import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from reinforge.system.process_table import ProcessIdentity, identify, kill, with_variable

_SLOTS = 1000
_MARK = "REINFORGE_RUN"
_GONE_WITHIN_SECONDS = 5.0


@dataclass(frozen=True)
class WorkerSlot:
    folder: Path
    worker_id: str
    descriptor: int

    @property
    def pid_file(self) -> Path:
        return self.folder / "trainer.json"

    def release(self) -> None:
        os.close(self.descriptor)


def take_slot(workers: Path, kind: str, hostname: str) -> WorkerSlot:
    """Lock the first free slot. A slot's worker id survives restarts."""
    home = hashlib.sha256(os.fsencode(workers.resolve())).hexdigest()[:6]
    host = re.sub(r"[^A-Za-z0-9_-]", "-", hostname)[:40]
    for number in range(_SLOTS):
        folder = workers / f"{kind}-{number}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        return WorkerSlot(folder, f"wrk_{host}-{home}-{kind}-{number}", descriptor)
    raise RuntimeError(f"{_SLOTS} workers already run in {workers}")


def mark(run: Path) -> dict[str, str]:
    return {_MARK: str(run)}


def remember_process(slot: WorkerSlot, pid: int, run: Path) -> None:
    process = identify(pid)
    note = {"pid": pid, "start": process.started if process else None, "boot": _boot(), "run": str(run)}
    fresh = slot.pid_file.with_suffix(".new")
    fresh.write_text(json.dumps(note))
    fresh.replace(slot.pid_file)


def forget_process(slot: WorkerSlot) -> None:
    slot.pid_file.unlink(missing_ok=True)


def end_leftover(slot: WorkerSlot) -> list[int]:
    """Kill the processes that the slot's former worker left running; returns their ids."""
    try:
        note = json.loads(slot.pid_file.read_text())
        leader, start, boot, run = int(note["pid"]), note["start"], note["boot"], str(note["run"])
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError):
        forget_process(slot)  # half-written before a power cut: the process is gone too
        return []
    ended: list[int] = []
    if boot == _boot():
        if start is not None:
            ended += kill([ProcessIdentity(leader, start)])
        deadline = time.monotonic() + _GONE_WITHIN_SECONDS
        while (remaining := with_variable(_MARK, run)) and time.monotonic() < deadline:
            ended += [pid for pid in kill(remaining) if pid not in ended]
    forget_process(slot)
    return ended


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
