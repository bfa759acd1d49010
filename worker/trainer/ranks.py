"""Ranks 1 and up of a job: child processes, one per GPU or share of the CPU, or processes of torchrun."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from reinforge.errors import JobFailure
from reinforge.system import launch
from reinforge.system.child_process import ChildProcess
from worker.machine import settings
from worker.machine.cpu_share import available_cores
from worker.machine.gpus import ORDER, VISIBLE
from worker.policy.load import job_device
from worker.policy.ranks.group import TIMEOUT_SECONDS, RankGroup, Store
from worker.policy.ranks.ranked import Ranks

STORE = "ranks.store"
_EXIT_SECONDS = 2.0
"""Longest wait for the exit status of a rank whose connection has closed."""


def check_devices(count: int) -> None:
    """Raises JobFailure `too_few_devices` (retryable)."""
    on_gpu = job_device().type == "cuda"
    available = torch.cuda.device_count() if on_gpu else available_cores()
    if count > available:
        what = "GPU" if on_gpu else "CPU core"
        raise JobFailure(
            f"devices_per_job is {count}, and this worker has {available} {what}{'' if available == 1 else 's'} for "
            "the job.",
            code="too_few_devices",
            hint="Give the job a worker with more, then resume it, or fork it with a smaller devices_per_job.",
            retryable=True,
        )


class RankProcesses:
    """Ranks 1 and up, which end with the thread that starts them."""

    def __init__(self, count: int, folder: Path) -> None:
        """folder: the run folder. Raises OSError."""
        self._count, self._folder = count, folder
        self._processes: list[ChildProcess] = []
        self._group: RankGroup | None = None
        self._ranks: Ranks | None = None
        self._store_path.unlink(missing_ok=True)
        settings.use_loopback()
        try:
            for rank in range(1, count):
                self._processes.append(self._start(rank))
        except OSError:
            self.close()
            raise

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def join(self, *, sharded: bool) -> Ranks:
        """Wait once until all ranks have loaded, or have started if they share the base model (`sharded`). Raises the
        JobFailure of a rank that cannot start, or `rank_lost`.
        """
        if self._ranks is None:
            self._group = RankGroup(
                file_store(self._store_path, self._count),
                0,
                self._count,
                timeout=settings.rank_seconds() or TIMEOUT_SECONDS,
                diagnose=self._ended,
                backend=backend(sharded=sharded),
            )
            self._ranks = Ranks(self._group)
        return self._ranks

    def close(self) -> None:
        # First: one that hangs may hold the lock of the store.
        for process in self._processes:
            process.kill()
            process.close_input()
        if self._group is not None:
            self._group.close()
        self._store_path.unlink(missing_ok=True)

    @property
    def _store_path(self) -> Path:
        return self._folder / STORE

    def _start(self, rank: int) -> ChildProcess:
        numbers = ["--rank", str(rank), "--size", str(self._count)]
        return ChildProcess(
            [sys.executable, "-m", "worker.trainer.rank", "--run", str(self._folder), *numbers],
            env=dict(os.environ) | _one_device(rank),
            end_signal=signal.SIGKILL,
            oom_score=launch.TRAINING_OOM_SCORE,
        )

    def _ended(self) -> str | None:
        deadline = time.monotonic() + (0.0 if self._group is None else _EXIT_SECONDS)
        while True:
            for rank, process in enumerate(self._processes, 1):
                if (status := process.poll()) is not None:
                    how = signal.Signals(-status).name if status < 0 else f"status {status}"
                    return f"rank {rank} ended with {how}"
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.02)


class TorchrunRanks:
    """Ranks that torchrun started, perhaps on other hosts."""

    def __init__(self) -> None:
        self._group: RankGroup | None = None
        self._ranks: Ranks | None = None

    def join(self, *, sharded: bool) -> Ranks:
        if self._ranks is None:
            self._group = torchrun_group(sharded=sharded)
            self._ranks = Ranks(self._group)
        return self._ranks

    def close(self) -> None:
        if self._group is not None:
            self._group.close()


OtherRanks = RankProcesses | TorchrunRanks


@contextlib.contextmanager
def rank_processes(count: int, folder: Path) -> Iterator[OtherRanks | None]:
    """Ranks 1 and up; None for a job with one rank. Raises JobFailure `too_few_devices`, OSError."""
    if count == 1:
        yield None
        return
    ranks: OtherRanks
    if settings.torchrun_rank() is None:
        check_devices(count)
        ranks = RankProcesses(count, folder)
    else:
        ranks = TorchrunRanks()
    try:
        yield ranks
    finally:
        ranks.close()


@contextlib.contextmanager
def all_loaded(group: RankGroup) -> Iterator[None]:
    """Context of rank 0 in which a sharded base runs, once all ranks have loaded their parts."""
    group.meet("loaded")
    with group.collective():
        yield


def torchrun_store() -> tuple[Any, int, int]:
    """Store, rank and number of ranks."""
    store, rank, size = next(iter(dist.rendezvous("env://")))  # type: ignore[attr-defined]
    return store, rank, size


def torchrun_group(*, sharded: bool) -> RankGroup:
    return rank_group(*torchrun_store(), sharded=sharded)


def rank_group(store: Store, rank: int, size: int, *, sharded: bool) -> RankGroup:
    timeout = settings.rank_seconds() or TIMEOUT_SECONDS
    return RankGroup(store, rank, size, timeout=timeout, backend=backend(sharded=sharded))


def backend(*, sharded: bool) -> str:
    """Layers of a sharded base travel between GPUs' memories, everything else over gloo."""
    return "cpu:gloo,cuda:nccl" if sharded and job_device().type == "cuda" else "gloo"


def file_store(path: Path, size: int) -> Any:
    return dist.FileStore(str(path), size)  # type: ignore[attr-defined]


def _one_device(rank: int) -> dict[str, str]:
    """Environment variables that show a rank only its own GPU. Rank 0 uses the first visible one."""
    if not torch.cuda.is_available():
        return {}
    names = settings.visible_devices()
    device = str(rank) if names is None else names.split(",")[rank].strip()
    return ORDER | {VISIBLE: device}
