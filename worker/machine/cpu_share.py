"""CPU share of one trainer: threads, sampler copies and priority."""

import os
from pathlib import Path

import torch

from reinforge.system.priority import give_way
from worker.machine import settings

WIDTH_PER_THREAD = 256
NICE = 5


def give_way_on_processor() -> None:
    """Lower this process's priority if it computes on the CPU; on a GPU it must not wait for rewards."""
    if not torch.cuda.is_available():
        give_way(NICE)


def set_threads(hidden_size: int, *, ranks: int = 1) -> int:
    """Set torch's number of threads, unless OMP_NUM_THREADS is set. Returns how many groups of that many
    threads fit into this rank's share of the cores.

    A second thread slows narrow models down: the starter model (128 wide) generates in 0.33 s with one thread
    and in 0.65 s with two.
    """
    if settings.threads_are_set():
        return 1
    cores = max(1, available_cores() // ranks)
    threads = max(1, min(cores, hidden_size // WIDTH_PER_THREAD))
    torch.set_num_threads(threads)
    return cores // threads


def available_cores() -> int:
    """CPU cores allowed by this process's affinity and the container's quota."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else max(1, min(cores, round(int(quota) / int(period))))
