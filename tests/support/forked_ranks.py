"""A second rank in a fork of this process."""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist

from reinforge.system.launch import end_with_parent
from worker.policy.critic import LoraCritic
from worker.policy.lora import LoraPolicy
from worker.policy.ranks.group import RankGroup, refuse_start
from worker.policy.ranks.ranked import Ranks
from worker.policy.ranks.server import RankServer

Make = Callable[[], tuple[LoraPolicy, LoraCritic | None]]


@contextmanager
def two_ranks(folder: Path, make: Make, *, timeout: float = 30.0) -> Iterator[tuple[Ranks, int]]:
    """Rank 0 in this process, with the process id of rank 1. make: of rank 1, which loads nothing after the fork."""
    torch.set_num_threads(1)
    made: tuple[LoraPolicy, LoraCritic | None] | Exception
    try:
        made = make()
    except Exception as error:
        made = error
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    parent, gc_was = os.getpid(), gc.isenabled()
    gc.disable()
    pid = os.fork()
    if pid == 0:
        _run(folder, made, parent, timeout)
    if gc_was:
        gc.enable()
    group = None
    try:
        group = RankGroup(dist.FileStore(str(folder / "store"), 2), 0, 2, timeout=timeout)  # type: ignore[attr-defined]
        yield Ranks(group), pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if group is not None:
            group.close()


def _run(
    folder: Path, made: tuple[LoraPolicy, LoraCritic | None] | Exception, parent: int, timeout: float
) -> None:
    try:
        end_with_parent(parent, signal.SIGKILL)
        store = dist.FileStore(str(folder / "store"), 2)  # type: ignore[attr-defined]
        if isinstance(made, Exception):
            refuse_start(store, made)
        else:
            RankServer(RankGroup(store, 1, 2, timeout=timeout), *made).run()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)
