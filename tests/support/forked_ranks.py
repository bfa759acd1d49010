"""A second rank in a fork of this process."""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
def two_sharded_ranks(folder: Path, make: Make, *, timeout: float = 30.0) -> Iterator[tuple[Ranks, int]]:
    """Rank 0 in this process, with the process id of rank 1. make: of rank 1, on a sharded base; runs beside the body,
    which makes that of rank 0.
    """
    with (
        _forked(folder, lambda store: _serve(store, timeout, make)) as pid,
        _first_rank(folder, timeout) as ranks,
    ):
        yield ranks, pid


def _serve(store: Any, timeout: float, make: Make) -> None:
    group = RankGroup(store, 1, 2, timeout=timeout)
    try:
        made = make()
    except Exception as error:
        group.refuse(error)
        raise
    RankServer(group, *made).run()


@contextmanager
def two_ranks(folder: Path, make: Make, *, timeout: float = 30.0) -> Iterator[tuple[Ranks, int]]:
    """Rank 0 in this process, with the process id of rank 1. make: of rank 1, which loads nothing after the fork."""
    torch.set_num_threads(1)
    made: tuple[LoraPolicy, LoraCritic | None] | Exception
    try:
        made = make()
    except Exception as error:
        made = error

    def serve(store: Any) -> None:
        if isinstance(made, Exception):
            refuse_start(store, made)
        else:
            RankServer(RankGroup(store, 1, 2, timeout=timeout), *made).run()

    with _forked(folder, serve) as pid, _first_rank(folder, timeout) as ranks:
        yield ranks, pid


@contextmanager
def _first_rank(folder: Path, timeout: float) -> Iterator[Ranks]:
    group = RankGroup(_store(folder), 0, 2, timeout=timeout)
    try:
        yield Ranks(group)
    finally:
        group.close()


@contextmanager
def _forked(folder: Path, serve: Callable[[Any], None]) -> Iterator[int]:
    """Process id of a fork that runs `serve` with the ranks' store; killed at the end."""
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    parent, gc_was = os.getpid(), gc.isenabled()
    gc.disable()
    pid = os.fork()
    if pid == 0:
        _run(folder, serve, parent)
    if gc_was:
        gc.enable()
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _store(folder: Path) -> Any:
    return dist.FileStore(str(folder / "store"), 2)  # type: ignore[attr-defined]


def _run(folder: Path, serve: Callable[[Any], None], parent: int) -> None:
    # A collection would run the destructors of groups whose threads are only in the parent.
    gc.freeze()
    try:
        end_with_parent(parent, signal.SIGKILL)
        serve(_store(folder))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)
